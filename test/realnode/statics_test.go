// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/internal/drainplugin"
	"github.com/slipway-k8s/slipway/internal/faultpoint"
	"github.com/slipway-k8s/slipway/internal/statics"
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

	const parameters = `{"apiVersion": "slipway.dev/v1alpha1", "kind": "DrainParameters", "targets": [{"podType": "Static"}, {"podType": "Default"}]}`
	drained := s.node.Event("with-static-pods", harness.Drain, harness.SLA(5*time.Minute), func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Spec.Parameters = &runtime.RawExtension{Raw: []byte(parameters)}
	})
	s.env.AwaitEvent(t, drained.Name, "waits for somebody who takes the pod away", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return slices.ContainsFunc(e.Status.Blockers, func(b lifecyclev1alpha1.Blocker) bool {
			return b.Reason == string(drain.StaticPodStays) && b.Object == "Pod default/"+proxy.Name
		})
	})
	s.wantStory(slow, "started", "asked to end", "ended")
	s.env.AwaitCondition(t, drained.Name, drainplugin.ConditionPodsLeft, string(drain.StaticPodLeft), etcd.Name)

	host := s.hostWithStaticPods()
	host(faultpoint.StaticPodTaken).killAt(t, faultpoint.StaticPodTaken)
	if content := s.away("proxy"); content != manifest {
		t.Errorf("the manifest that is away is %q, and was %q", content, manifest)
	}
	running := host("")
	s.env.AwaitEventGone(t, drained.Name)
	s.node.Await("says that the pod is away", func(n *corev1.Node) bool {
		r := statics.ReportedOn(n)
		return r != nil && slices.Equal(r.Away, []string{"default/" + proxy.Name})
	})
	if isSubset(containers(proxy), s.running()) {
		t.Error("the static pod runs")
	}
	gone := s.wantStory(proxy, "started", "asked to end", "ended")
	if last := s.wantStory(slow, "started", "asked to end", "ended"); gone[1].Before(last[2]) {
		t.Error("the static pod was asked to end before the others had ended")
	}
	checkDrained(t, s, []*corev1.Pod{slow}, []*corev1.Pod{etcd, s.hostPod()})
	s.wantStory(etcd, "started")

	// Who kills it on the way back, too, changes nothing.
	running.Kill()
	back := host(faultpoint.StaticPodPutBack)
	s.run(0, "uncordon", nodeName)
	back.killAt(t, faultpoint.StaticPodPutBack)
	host("")
	s.node.Await("says that nothing is away", func(n *corev1.Node) bool {
		r := statics.ReportedOn(n)
		return r != nil && len(r.Away)+len(r.Trouble) == 0 && n.Annotations[statics.Annotation] == ""
	})
	if content := s.manifest("proxy"); content != manifest {
		t.Errorf("the manifest that is back is %q, and was %q", content, manifest)
	}
	again := s.awaitPod("proxy")
	if again.UID == proxy.UID || !isSubset(containers(again), s.running()) {
		t.Errorf("the static pod does not run again: %+v", again.Status)
	}
	s.wantStory(again, "started", "asked to end", "ended", "started")
}

// slowStaticPod has the kubelet run a static pod that takes its time to end, and returns its
// mirror.
func (s *scene) slowStaticPod(app string, labels map[string]string) *corev1.Pod {
	s.t.Helper()
	template := s.workload(app, 30, "-ends-in=1s")
	maps.Copy(template.Labels, labels)
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

// hostProcess is slipway-host, as a process of this machine.
type hostProcess struct{ *harness.Process }

// killAt kills it at a moment between two of its steps.
func (p hostProcess) killAt(t *testing.T, point string) {
	t.Helper()
	p.AwaitFaultPoint(point)
	p.Kill()
}

// hostWithStaticPods returns what starts slipway-host with the kubelet's folder. It has the
// token of a pod that is on the node, and its own logind.
func (s *scene) hostWithStaticPods() func(faultPoint string) hostProcess {
	s.t.Helper()
	s.env.Kubectl(s.t, "apply", "--server-side", "-f", harness.File(s.t, "config", "rbac", "host"))
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: hostAccount, Namespace: devcluster.Namespace},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": hostAccount}}, Template: s.workload(hostAccount, 1),
		},
	}
	set.Spec.Template.Spec.ServiceAccountName = hostAccount
	set.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	s.create(set)
	s.awaitDaemonSet(set)
	kubeconfig := filepath.Join(s.node.Dir, "host-kubeconfig")
	if err := devcluster.WriteKubeconfig(kubeconfig, s.hostCredentials()); err != nil {
		s.t.Fatal(err)
	}
	bus := logind.Start(s.t, time.Minute)
	return func(faultPoint string) hostProcess {
		return hostProcess{harness.StartProcess(s.t, "slipway-host", []string{"KUBECONFIG=" + kubeconfig, "SLIPWAY_FAULTPOINT=" + faultPoint},
			harness.Binary(s.t, "slipway-host"), "--node-name="+nodeName, "--system-bus="+bus.Socket, "--static-pods="+s.machine.Manifests,
			"--health-probe-bind-address=0")}
	}
}

// hostAccount is that of slipway-host, its DaemonSet's name and its pods' label.
const hostAccount = "slipway-host"

func (s *scene) hostPod() *corev1.Pod {
	s.t.Helper()
	return harness.Await(s.t, s.env, "there is a pod with the account of slipway-host", &corev1.PodList{}, func(p *corev1.Pod) bool {
		return p.DeletionTimestamp == nil && len(containers(p)) == 1
	}, client.InNamespace(devcluster.Namespace), client.MatchingLabels{"app": hostAccount})
}

// hostCredentials are a token that is bound to that pod.
func (s *scene) hostCredentials() *rest.Config {
	s.t.Helper()
	pod := s.hostPod()
	clients, err := kubernetes.NewForConfig(s.env.Admin)
	if err != nil {
		s.t.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	token, err := clients.CoreV1().ServiceAccounts(devcluster.Namespace).CreateToken(context.WithoutCancel(s.t.Context()), hostAccount, request, metav1.CreateOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(s.env.Admin)
	config.BearerToken = token.Status.Token
	return config
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
