// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/drain"
)

// A drain waits for who takes a static pod away, looks at the Node for that, and ends when the
// kubelet has taken the pod off the API. It sends nothing.
func TestAStaticPodIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		static := fakePod("static")
		static.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "hash"}
		s := newFakeServer(t, fakeNode(), static)
		d := startDrain(t, s, func(c *drain.Config, r *drain.Request) {
			r.Targets = []drain.Target{{PodType: drain.PodTypeDefault}, {PodType: drain.PodTypeStatic}}
			c.StaticPods = func(node *corev1.Node, pod *corev1.Pod) drain.Removal {
				if pod.Name != "static" || node.Labels["host"] == "" {
					return drain.Removal{Trouble: "nobody is there"}
				}
				return drain.Removal{Able: true}
			}
		})
		d.wantReasons(drain.StaticPodStays)
		if told := d.status().Static; len(told) != 0 {
			t.Errorf("nobody is there, and is told of %v", told)
		}
		node := fakeNode()
		metav1.SetMetaDataLabel(&node.ObjectMeta, "host", "there")
		s.put(node)
		pass(latency)
		if told := d.status().Static; len(told) != 1 || told[0].UID != static.UID || d.status().Moving != 1 {
			t.Errorf("somebody is there, and is told of %v: %+v", told, d.status())
		}
		d.wantReasons()
		pass(time.Hour)
		d.wantReasons(drain.StaticPodStays)
		d.wantRunning()
		if err := s.CoreV1().Pods(static.Namespace).Delete(t.Context(), static.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := d.end(); err != nil {
			t.Fatal(err)
		}
		if n := len(s.evictions()); n != 0 {
			t.Errorf("%d evictions were sent", n)
		}
		if last := d.status(); last.Done != 1 || last.Total != 1 || !last.Reached {
			t.Errorf("the last status is %+v", last)
		}
	})
}
