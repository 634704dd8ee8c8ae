// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

func TestTakeAndGive(t *testing.T) {
	reborn := worker1()
	reborn.UID = "uid-2"
	tagged := leaseOf("fwup")
	tagged.Labels = map[string]string{"team": "metal"}
	tagged.Annotations["team"] = "metal"
	tagged.OwnerReferences = append([]metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Rack", Name: "r1", UID: "uid-r1"}}, tagged.OwnerReferences...)
	for name, tc := range map[string]struct {
		got  *coordinationv1.Lease
		want string
	}{
		"the first time, all fields are set": {Take(nil, worker1(), "fwup", "firmware", time.Minute, noon), `
metadata:
  annotations: {slipway.dev/purpose: firmware}
  creationTimestamp: null
  name: worker-1
  namespace: kube-node-maintenance
  ownerReferences: [{apiVersion: v1, kind: Node, name: worker-1, uid: uid-1}]
spec: {acquireTime: "2026-05-01T12:00:00.000000Z", holderIdentity: fwup, leaseDurationSeconds: 60, leaseTransitions: 0, renewTime: "2026-05-01T12:00:00.000000Z"}`},
		"renewed, it has been the holder's since": {Take(leaseOf("fwup"), nil, "fwup", "reboot", time.Hour, after(30*time.Second)), `
metadata:
  annotations: {slipway.dev/purpose: reboot}
  creationTimestamp: null
  name: worker-1
  namespace: kube-node-maintenance
  ownerReferences: [{apiVersion: v1, kind: Node, name: worker-1, uid: uid-1}]
  resourceVersion: "7"
spec: {acquireTime: "2026-05-01T12:00:00.000000Z", holderIdentity: fwup, leaseDurationSeconds: 3600, leaseTransitions: 0, renewTime: "2026-05-01T12:00:30.000000Z"}`},
		"taken again by the same holder when it was free in between": {Take(leaseOf("fwup"), worker1(), "fwup", "", time.Minute, after(2*time.Minute)), `
metadata:
  creationTimestamp: null
  annotations: {}
  name: worker-1
  namespace: kube-node-maintenance
  ownerReferences: [{apiVersion: v1, kind: Node, name: worker-1, uid: uid-1}]
  resourceVersion: "7"
spec: {acquireTime: "2026-05-01T12:02:00.000000Z", holderIdentity: fwup, leaseDurationSeconds: 60, leaseTransitions: 0, renewTime: "2026-05-01T12:02:00.000000Z"}`},
		"given back, it keeps its history": {Give(tagged, after(time.Second)), `
metadata:
  annotations: {team: metal}
  creationTimestamp: null
  labels: {team: metal}
  name: worker-1
  namespace: kube-node-maintenance
  ownerReferences: [{apiVersion: example.com/v1, kind: Rack, name: r1, uid: uid-r1}, {apiVersion: v1, kind: Node, name: worker-1, uid: uid-1}]
  resourceVersion: "7"
spec: {acquireTime: "2026-05-01T12:00:00.000000Z", holderIdentity: "", leaseDurationSeconds: 1, leaseTransitions: 0, renewTime: "2026-05-01T12:00:01.000000Z"}`},
		"by another holder, for a node that was made anew": {Take(Give(tagged, after(time.Second)), reborn, "other", "", time.Minute, after(2*time.Second)), `
metadata:
  annotations: {team: metal}
  creationTimestamp: null
  labels: {team: metal}
  name: worker-1
  namespace: kube-node-maintenance
  ownerReferences: [{apiVersion: example.com/v1, kind: Rack, name: r1, uid: uid-r1}, {apiVersion: v1, kind: Node, name: worker-1, uid: uid-2}]
  resourceVersion: "7"
spec: {acquireTime: "2026-05-01T12:00:02.000000Z", holderIdentity: other, leaseDurationSeconds: 60, leaseTransitions: 1, renewTime: "2026-05-01T12:00:02.000000Z"}`},
		"no Lease given back is none": {Give(nil, noon), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var want *coordinationv1.Lease
			if tc.want != "" {
				want = &coordinationv1.Lease{}
				if err := yaml.UnmarshalStrict([]byte(tc.want), want); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, tc.got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheServerCountsWholeSeconds(t *testing.T) {
	for d, want := range map[time.Duration]int32{
		-time.Hour: 1, 0: 1, time.Millisecond: 1, time.Second: 1, 1500 * time.Millisecond: 2, time.Hour: 3600, 25 * time.Hour: 3600,
	} {
		if got := *Take(nil, &corev1.Node{}, "fwup", "", d, noon).Spec.LeaseDurationSeconds; got != want {
			t.Errorf("%s are %d seconds, want %d", d, got, want)
		}
	}
}
