// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/test/harness"
	"github.com/slipway-k8s/slipway/test/logind"
)

// A drain that is asked for static pods waits, and says so, where nobody takes them away; it
// takes them when all others are gone, whoever kills slipway-host meanwhile, and leaves the
// control plane alone. When the node returns, they run again.
func TestStaticPodsAreTakenAwayAndPutBack(t *testing.T) {
	s := newScene(t)
	const slowness = 3 * time.Second
	slow := s.deploy("lingering", s.workload("lingering", 30, "-ends-in="+slowness.String()))
	proxy := s.slowStaticPod("proxy", nil)
	etcd := s.slowStaticPod("etcd", map[string]string{"component": "etcd", "tier": "control-plane"})
	manifest := s.manifest("proxy")

	drained := s.node.Event("with-static-pods", harness.Drain, harness.SLA(5*time.Minute), func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Spec.Parameters = &runtime.RawExtension{Raw: []byte(withStaticPods)}
	})
	s.env.AwaitEvent(t, drained.Name, "waits for somebody who takes the pod away", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return slices.ContainsFunc(e.Status.Blockers, func(b lifecyclev1alpha1.Blocker) bool {
			return b.Reason == string(drain.StaticPodStays) && b.Object == "Pod default/"+proxy.Name
		})
	})
	s.wantStory(slow, "started", "asked to end", "ended")
	s.env.AwaitCondition(t, drained.Name, lifecyclev1alpha1.ConditionPodsLeft, string(drain.StaticPodLeft), etcd.Name)

	hosts := s.hostWithStaticPods(false, faultpoint.StaticPodTaken)
	host := s.killHostAt(faultpoint.StaticPodTaken, s.startHost(logind.Start(t, time.Minute), hosts))
	if content := s.away("proxy"); content != manifest {
		t.Errorf("the manifest that is away is %q, and was %q", content, manifest)
	}
	s.env.AwaitEventGone(t, drained.Name)
	s.wantAway(proxy)
	gone := s.wantStory(proxy, "started", "asked to end", "ended")
	if last := s.wantStory(slow, "started", "asked to end", "ended"); gone[1].Before(last[2]) {
		t.Error("the static pod was asked to end before the others had ended")
	}
	checkDrained(t, s, []*corev1.Pod{slow, proxy}, []*corev1.Pod{etcd, host})
	s.wantStory(etcd, "started")
	s.wantRestarts(host, 1)

	// Who kills it on the way back, too, changes nothing.
	host = s.stopsNextAt(faultpoint.StaticPodPutBack, hosts)
	s.run(0, "uncordon", nodeName)
	s.killHostAt(faultpoint.StaticPodPutBack, host)
	s.wantNothingAway()
	if content := s.manifest("proxy"); content != manifest {
		t.Errorf("the manifest that is back is %q, and was %q", content, manifest)
	}
	s.wantBack(proxy, "proxy")
}

// With the second opt-in, the control plane's go, too: after all others, for it is them that the
// others need. They come back as the others do.
func TestStaticPodsOfTheControlPlaneGoLast(t *testing.T) {
	s := newScene(t)
	proxy := s.slowStaticPod("proxy", nil)
	etcd := s.slowStaticPod("etcd", map[string]string{"component": "etcd", "tier": "control-plane"})
	host := s.startHost(logind.Start(t, time.Minute), s.hostWithStaticPods(true, ""))

	drained := s.node.Event("with-the-control-plane", harness.Drain, harness.SLA(5*time.Minute), func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Spec.Parameters = &runtime.RawExtension{Raw: []byte(withStaticPods)}
	})
	s.env.AwaitEventGone(t, drained.Name)
	s.wantAway(etcd, proxy)
	last := s.wantStory(etcd, "started", "asked to end", "ended")
	if others := s.wantStory(proxy, "started", "asked to end", "ended"); last[1].Before(others[2]) {
		t.Error("that of the control plane was asked to end before the other had ended")
	}
	checkDrained(t, s, []*corev1.Pod{proxy, etcd}, []*corev1.Pod{host})

	s.run(0, "uncordon", nodeName)
	s.wantNothingAway()
	s.wantBack(proxy, "proxy")
	s.wantBack(etcd, "etcd")
	s.wantRestarts(host, 0)
}

// withStaticPods are the parameters of a drain that takes everything away but DaemonSets.
const withStaticPods = `{"apiVersion": "slipway.dev/v1alpha1", "kind": "DrainParameters", "targets": [{"podType": "Static"}, {"podType": "Default"}]}`

// wantAway wants that the Node says that these static pods are away, and that they do not run.
func (s *scene) wantAway(pods ...*corev1.Pod) {
	s.t.Helper()
	var names []string
	for _, p := range pods {
		names = append(names, p.Namespace+"/"+p.Name)
	}
	s.node.Await("says that the pods are away", func(n *corev1.Node) bool {
		r := staticpod.ReportedOn(n)
		return r != nil && slices.Equal(r.Away, names)
	})
	for _, p := range pods {
		if isSubset(containers(p), s.running()) {
			s.t.Errorf("static pod %s runs", p.Name)
		}
	}
}

// wantNothingAway waits until the Node says that all static pods are there.
func (s *scene) wantNothingAway() {
	s.t.Helper()
	s.node.Await("says that nothing is away", func(n *corev1.Node) bool {
		r := staticpod.ReportedOn(n)
		return r != nil && len(r.Away)+len(r.Trouble) == 0 && n.Annotations[staticpod.Annotation] == ""
	})
}

// wantBack wants that a static pod runs again.
func (s *scene) wantBack(before *corev1.Pod, app string) {
	s.t.Helper()
	again := s.awaitPod(app)
	if again.UID == before.UID || !isSubset(containers(again), s.running()) {
		s.t.Errorf("static pod %s does not run again: %+v", app, again.Status)
	}
	s.wantStory(again, "started", "asked to end", "ended", "started")
}

// slowStaticPod has the kubelet run a static pod that takes its time to end, and returns its
// mirror. One with labels is of the control plane.
func (s *scene) slowStaticPod(app string, labels map[string]string) *corev1.Pod {
	s.t.Helper()
	template := s.workload(app, 30, "-ends-in=1s")
	maps.Copy(template.Labels, labels)
	if len(labels) > 0 { // as kubeadm writes them
		template.Spec.PriorityClassName, template.Spec.Priority = "system-node-critical", new(int32(2000001000))
	}
	return s.staticPod(app, template)
}

func (s *scene) awayPath(app string) string {
	return filepath.Join(s.machine.Manifests, ".slipway", app+".yaml")
}

func (s *scene) manifest(app string) string {
	return s.read(filepath.Join(s.machine.Manifests, app+".yaml"))
}

func (s *scene) away(app string) string { return s.read(s.awayPath(app)) }

func (s *scene) read(path string) string {
	s.t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(content)
}

// The folder of what is away is none of the kubelet's: it runs nothing from there.
func TestAKubeletDoesNotLookBesideItsManifests(t *testing.T) {
	s := newScene(t)
	s.slowStaticPod("seen", nil)
	if err := os.MkdirAll(filepath.Dir(s.awayPath("x")), 0o700); err != nil {
		t.Fatal(err)
	}
	unseen := strings.ReplaceAll(s.manifest("seen"), "name: seen", "name: unseen")
	if err := os.WriteFile(s.awayPath("unseen"), []byte(unseen), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(s.awayPath("unseen")) })
	// It has read its folder anew, and what came later is there: so would what was there before.
	for _, arguments := range [][]string{{"stop", "kubelet@" + nodeName, "--kill"}, {"start", "kubelet@" + nodeName}} {
		if _, err := launcher(append(arguments, "--dir", s.env.Dir)...); err != nil {
			t.Fatal(err)
		}
	}
	s.slowStaticPod("later", nil)
	var pods corev1.PodList
	if err := s.env.Client.List(t.Context(), &pods, client.MatchingFields{"spec.nodeName": nodeName}); err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		if strings.HasPrefix(p.Name, "unseen") {
			t.Errorf("pod %s runs", p.Name)
		}
	}
}
