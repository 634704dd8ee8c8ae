// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/slipway-k8s/slipway/drain"
)

// What a pod that stays uses cannot be read. The drain waits its time for that, and whatever happens later does not take
// back what it has told then.
func TestADrainThatHoldsAsksForNoClaimsAfterItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		attached := func(n *corev1.Node) { n.Status.VolumesAttached = []corev1.AttachedVolume{{Name: "vol"}} }
		s := newFakeServer(t, fakeNode(attached), fakePod("agent", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(
				&appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent"}}, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}
			p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
			}}}
		}))
		gets := 0
		s.PrependReactor("get", "persistentvolumeclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
			gets++
			return true, nil, apierrors.NewForbidden(corev1.Resource("persistentvolumeclaims"), "data", errors.New("RBAC"))
		})
		d := startDrain(t, s, func(_ *drain.Config, r *drain.Request) {
			r.Hold, r.VolumeTimeout = true, new(30*time.Second)
		})
		d.wantReasons(drain.ReadRefused)
		if d.status().Reached {
			t.Error("reached although nobody knows whether the volume is used")
		}
		pass(29 * time.Second)
		asked := gets
		for i := range 5 {
			pass(time.Minute)
			if got := d.status(); !got.Reached || len(got.Left) != 1 || got.Left[0].Reason != drain.VolumeAttached {
				t.Errorf("after its time it is told %+v", got)
			}
			s.put(fakeNode(attached, func(n *corev1.Node) { n.Generation = int64(i) }))
		}
		d.wantReasons()
		if asked == 0 || gets != asked {
			t.Errorf("asked for claims %d times in its time, %d times after", asked, gets-asked)
		}
		d.cancel(errors.New("enough"))
		_ = d.end()
	})
}
