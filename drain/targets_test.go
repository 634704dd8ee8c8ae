// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestTargetsSayWhichPodsAreInScope(t *testing.T) {
	ofDaemonSet := ownedBy("apps/v1", "DaemonSet", true)
	ofOwn := func(p *corev1.Pod) { p.Namespace = "slipway-system" }
	postgres := labels.SelectorFromSet(labels.Set{"app": "postgres"})
	isPostgres := func(p *corev1.Pod) { p.Labels["app"] = "postgres" }
	cases := map[string]struct {
		pod     *corev1.Pod
		targets []Target
		want    bool
	}{
		"a priority up to the target's":              {newPod("p", priority(1000)), []Target{upTo(PodTypeDefault, 1000, nil)}, true},
		"a higher priority is not covered":           {newPod("p", priority(1001)), []Target{upTo(PodTypeDefault, 1000, nil)}, false},
		"no priority counts as 0":                    {newPod("p"), []Target{upTo(PodTypeDefault, 0, nil)}, true},
		"a negative target leaves out ordinary pods": {newPod("p"), []Target{upTo(PodTypeDefault, -1, nil)}, false},
		"no limit covers any priority":               {newPod("p", priority(2000001000)), []Target{{PodType: PodTypeDefault}}, true},
		"one of several targets is enough":           {newPod("p", priority(2000), isPostgres), []Target{upTo(PodTypeDefault, 1000, nil), upTo(PodTypeDefault, 2000, postgres)}, true},
		"a selector leaves others out":               {newPod("p", priority(2000)), []Target{upTo(PodTypeDefault, 1000, nil), upTo(PodTypeDefault, 2000, postgres)}, false},
		"a DaemonSet's pod is of another type":       {newPod("p", ofDaemonSet), []Target{upTo(PodTypeDefault, 1000, nil)}, false},
		"a DaemonSet's pod leaves if asked for":      {newPod("p", ofDaemonSet), []Target{upTo(PodTypeDaemonSet, 1000, nil)}, true},
		"an ordinary pod is no DaemonSet's":          {newPod("p"), []Target{upTo(PodTypeDaemonSet, 1000, nil)}, false},
		"a DaemonSet's pod of those who drain stays": {newPod("p", ofDaemonSet, ofOwn), []Target{{PodType: PodTypeDaemonSet}}, false},
		"another pod of those who drain leaves":      {newPod("p", ofOwn), []Target{{PodType: PodTypeDefault}}, true},
		"a mirror pod is neither":                    {newPod("p", mirror), []Target{upTo(PodTypeDefault, 1000, nil), upTo(PodTypeDaemonSet, 1000, nil)}, false},
		"a mirror pod of a DaemonSet is none":        {newPod("p", mirror, ofDaemonSet), []Target{upTo(PodTypeDaemonSet, 1000, nil)}, false},
		"a mirror pod leaves if asked for":           {newPod("p", mirror), []Target{upTo(PodTypeStatic, 1000, nil)}, true},
		"an ordinary pod is not static":              {newPod("p"), []Target{upTo(PodTypeStatic, 1000, nil)}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := len(covered([]*corev1.Pod{tc.pod}, Request{Targets: tc.targets}, "slipway-system")) == 1; got != tc.want {
				t.Errorf("covered: got %t, want %t", got, tc.want)
			}
		})
	}
}

func upTo(kind PodType, priority int32, selector labels.Selector) Target {
	return Target{PodType: kind, PodPriority: &priority, Selector: selector}
}

func TestRefuse(t *testing.T) {
	managed := ownedBy("apps/v1", "ReplicaSet", true)
	all := Request{RefuseUnmanaged: true, RefuseLocalStorage: true}
	cases := map[string]struct {
		pod     *corev1.Pod
		request Request
		want    Reason
	}{
		"nothing is refused unless asked for":       {newPod("p", localStorage), Request{}, ""},
		"a pod without a controller":                {newPod("p"), all, UnmanagedPod},
		"an owner that does not control":            {newPod("p", ownedBy("apps/v1", "ReplicaSet", false)), all, UnmanagedPod},
		"a pod with a controller":                   {newPod("p", managed), all, ""},
		"local storage":                             {newPod("p", managed, localStorage), all, LocalStorage},
		"of two reasons the one that kubectl names": {newPod("p", localStorage), all, LocalStorage},
		"only what is asked for: unmanaged":         {newPod("p", localStorage), Request{RefuseUnmanaged: true}, UnmanagedPod},
		"only what is asked for: local storage":     {newPod("p"), Request{RefuseLocalStorage: true}, ""},
		"a finished pod has nothing left to lose":   {newPod("p", localStorage, phase(corev1.PodFailed)), all, ""},
		"a pod that is leaving is refused no more":  {newPod("p", endingAt(noon)), all, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := Reason("")
			if o := refusal(tc.pod, tc.request); o != nil {
				got = o.reason
			}
			if got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestOneRefusedPodHoldsAll(t *testing.T) {
	f := calm()
	f.request.RefuseUnmanaged = true
	f.pods = []*corev1.Pod{newPod("bare"), newPod("managed", ownedBy("apps/v1", "ReplicaSet", true))}
	p := decide(f)
	if len(p.evict) > 0 {
		t.Errorf("sent %v", p.evict)
	}
	if b := p.status.Blockers; len(b) != 1 || b[0].Reason != UnmanagedPod || b[0].Pod.Name != "bare" {
		t.Errorf("blockers are %v, want the bare pod alone", b)
	}
}
