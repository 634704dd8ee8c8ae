// SPDX-License-Identifier: Apache-2.0

package status

import (
	"io"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

func nodeThatSays(name, drivers string) corev1.Node {
	node := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if drivers != "?" {
		node.Annotations = map[string]string{nodestate.DriversAnnotation: drivers}
	}
	return node
}

func agentOn(node string, ready corev1.ConditionStatus) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "agent-" + node, Namespace: "slipway-system"},
		Spec:       corev1.PodSpec{NodeName: node},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

func transitionOf(name, driver, node string) lifecyclev1alpha1.LifecycleTransition {
	t := lifecyclev1alpha1.LifecycleTransition{ObjectMeta: metav1.ObjectMeta{Name: name}}
	t.Spec.Driver, t.Spec.NodeName = driver, node
	if node == "" {
		t.Spec.AllNodes = new(true)
	}
	return t
}

func TestDriversSaysWhatIsWhereAndWhyItIsNotReady(t *testing.T) {
	drains := []lifecyclev1alpha1.LifecycleTransition{
		transitionOf("drain.slm.k8s.io-uncordon", "drain.slm.k8s.io", ""), transitionOf("drain.slm.k8s.io", "drain.slm.k8s.io", ""),
	}
	central := []lifecyclev1alpha1.LifecycleTransition{*drains[0].DeepCopy(), *drains[1].DeepCopy()}
	for i := range central {
		central[i].Annotations = map[string]string{lifecyclev1alpha1.RegisteredCentrallyAnnotation: "drain.slm.k8s.io"}
	}
	for name, list := range map[string]driverList{
		"agents": {Drivers: driverFacts{
			nodes: []corev1.Node{
				nodeThatSays("worker-1", "drain.slm.k8s.io"),
				nodeThatSays("worker-2", "drain.slm.k8s.io,firmware.example.com"),
				nodeThatSays("worker-3", ""),
				nodeThatSays("worker-4", "?"),
				nodeThatSays("worker-5", "drain.slm.k8s.io"),
				nodeThatSays("worker-6", "drain.slm.k8s.io,silent.example.com"),
				nodeThatSays("worker-7", "drain.slm.k8s.io"),
			},
			transitions: append(drains, transitionOf("firmware.example.com-worker-2", "firmware.example.com", "worker-2")),
			agents: []corev1.Pod{
				agentOn("worker-1", corev1.ConditionTrue), agentOn("worker-2", corev1.ConditionTrue), agentOn("worker-3", corev1.ConditionTrue),
				agentOn("worker-4", corev1.ConditionTrue), agentOn("worker-5", corev1.ConditionFalse), agentOn("worker-6", corev1.ConditionTrue),
			},
			podsRead: true, now: time.Unix(0, 0),
		}.rows()},
		"central": {Drivers: driverFacts{
			nodes:       []corev1.Node{nodeThatSays("worker-1", "?")},
			transitions: append(central, transitionOf("firmware.example.com-worker-1", "firmware.example.com", "worker-1")),
			alone:       true,
		}.rows()},
		"side-by-side": {Drivers: driverFacts{
			nodes: []corev1.Node{
				nodeThatSays("worker-1", "firmware.example.com"), nodeThatSays("worker-2", "drain.slm.k8s.io"), nodeThatSays("worker-3", "?"),
			},
			transitions: append(central, transitionOf("firmware.example.com", "firmware.example.com", "")),
			agents:      []corev1.Pod{agentOn("worker-1", corev1.ConditionTrue), agentOn("worker-2", corev1.ConditionTrue)},
			podsRead:    true, now: time.Unix(0, 0),
		}.rows()},
		"no-transitions": {Drivers: driverFacts{nodes: []corev1.Node{nodeThatSays("worker-1", "")}}.rows()},
		"unread": {
			Drivers: driverFacts{nodes: []corev1.Node{nodeThatSays("worker-1", "drain.slm.k8s.io")}, transitions: drains}.rows(),
			Unread:  []string{`whether the agents are well: pods is forbidden: User "ada" cannot list resource "pods" in API group "" in the namespace "slipway-system"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clitest.GoldenStyles(t, "drivers/"+name, func(out io.Writer, style ui.Style) error {
				_, err := io.WriteString(out, list.text(style, false))
				return err
			})
			clitest.GoldenEncoded(t, "drivers/"+name, list)
		})
	}
}
