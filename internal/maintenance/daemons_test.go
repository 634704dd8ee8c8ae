// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// daemonPod is the pod of a DaemonSet on a machine, or what has become of it.
type daemonPod struct {
	name     string // of the DaemonSet, and the value of label app
	priority int32
	state    daemonState
	times    int // that it was created
}

type daemonState int

const (
	running daemonState = iota
	gone
	atTheGate
)

func (n *machine) runs(text string) {
	name, priority, _ := strings.Cut(text, "/")
	number, _ := strconv.Atoi(priority)
	n.daemons = append(n.daemons, &daemonPod{name: name, priority: int32(number)})
}

// covered says whether targets are for the pod.
func (d *daemonPod) covered(targets []slipwayv1alpha1.DrainTarget) bool {
	return slices.ContainsFunc(targets, func(t slipwayv1alpha1.DrainTarget) bool {
		selector, err := metav1.LabelSelectorAsSelector(t.PodSelector)
		matches := t.PodSelector == nil || err == nil && selector.Matches(labels.Set{"app": d.name})
		return t.PodType == slipwayv1alpha1.PodTypeDaemonSet && matches && (t.PodPriority == nil || d.priority <= *t.PodPriority)
	})
}

// keptAway says whether admission holds the pod at the gate: what the policy does.
func (d *daemonPod) keptAway(node *corev1.Node) bool {
	which, marked := node.Annotations[slipwayv1alpha1.KeptAway]
	return marked && node.Labels[slipwayv1alpha1.KeptAway] != "" && slices.ContainsFunc(strings.Split(which, ";"), func(entry string) bool {
		priority, selector, _ := strings.Cut(entry, " ")
		number, err := strconv.Atoi(priority)
		return err == nil && int(d.priority) <= number && (selector == "" || selector == "app In ("+d.name+")")
	})
}

func (n *machine) evictDaemons(targets []slipwayv1alpha1.DrainTarget) {
	for _, d := range n.daemons {
		if d.state == running && d.covered(targets) {
			d.state = gone
		}
	}
}

// daemonSets creates the pods that are gone.
func (w *world) daemonSets() (did []string) {
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		for _, d := range w.nodes[name].daemons {
			if d.state != gone {
				continue
			}
			d.times++
			if d.state = running; d.keptAway(w.nodes[name].node) {
				d.state = atTheGate
				did = append(did, fmt.Sprintf("%s waits at the gate of %s", d.name, name))
				continue
			}
			did = append(did, fmt.Sprintf("%s runs on %s again", d.name, name))
		}
	}
	return did
}

// keptAway are the pods at gates.
func (w *world) keptAway() (pods []KeptPod) {
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		for _, d := range w.nodes[name].daemons {
			if d.state == atTheGate {
				pods = append(pods, KeptPod{Namespace: "d", Name: d.name, UID: types.UID(name + d.name), Node: name, Gated: true})
			}
		}
	}
	return pods
}

func (w *world) performKeptAway(step Step) {
	switch s := step.(type) {
	case KeepAway:
		if n := w.nodes[s.Node]; n != nil {
			if n.node.Labels == nil {
				n.node.Labels = map[string]string{}
			}
			n.node.Labels[slipwayv1alpha1.KeptAway] = slipwayv1alpha1.KeptAwayDaemonSets
			n.node.Annotations = map[string]string{slipwayv1alpha1.KeptAway: s.Which}
		}
	case LetBack:
		if n := w.nodes[s.Node]; n != nil {
			delete(n.node.Labels, slipwayv1alpha1.KeptAway)
			n.node.Annotations = nil
		}
	case Lift:
		if n := w.nodes[s.Pod.Node]; n != nil {
			for _, d := range n.daemons {
				if d.name == s.Pod.Name && d.state == atTheGate {
					d.state = running
				}
			}
		}
	}
}

func (n *machine) daemonsText() string {
	text := ""
	for _, d := range n.daemons {
		text += fmt.Sprintf(", %s %s", d.name, [...]string{"runs", "is gone", "waits at the gate"}[d.state])
	}
	return text
}

// daemonsLeft is what keeps pods of DaemonSets away from a node when nobody needs it any more.
func (n *machine) daemonsLeft(name string) (left []string) {
	if n.node.Annotations[slipwayv1alpha1.KeptAway] != "" || n.node.Labels[slipwayv1alpha1.KeptAway] != "" {
		left = append(left, "node "+name+" keeps pods away")
	}
	for _, d := range n.daemons {
		if d.state == atTheGate {
			left = append(left, fmt.Sprintf("pod %s waits at the gate of node %s", d.name, name))
		}
	}
	return left
}

// checkDaemons checks that no drain evicts pods of DaemonSets whose node does not keep them away.
func (w *world) checkDaemons(t *rapid.T) {
	for _, e := range w.events {
		n := w.nodes[e.Spec.BindingNode]
		if n == nil || e.Name != DrainName(n.node.Name) || ended(e) {
			continue
		}
		for _, d := range n.daemons {
			if d.covered(ParametersOf(e).Targets) && !d.keptAway(n.node) {
				t.Fatalf("%s evicts %s, which comes back at once: %v", e.Name, d.name, n.node.Annotations)
			}
		}
	}
}

func randomDaemons(t *rapid.T) (daemons []*daemonPod) {
	for _, name := range []string{"logs", "cni"} {
		if rapid.Bool().Draw(t, name) {
			daemons = append(daemons, &daemonPod{name: name, priority: rapid.SampledFrom([]int32{0, 2000001000}).Draw(t, "priority")})
		}
	}
	return daemons
}

func randomPlan(t *rapid.T) []slipwayv1alpha1.DrainTarget {
	ofLogs := slipwayv1alpha1.DrainTarget{
		PodType: slipwayv1alpha1.PodTypeDaemonSet, PodPriority: new(int32(1000)), PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "logs"}},
	}
	all := slipwayv1alpha1.DrainTarget{PodType: slipwayv1alpha1.PodTypeDaemonSet, PodPriority: new(int32(500))}
	return rapid.SampledFrom([][]slipwayv1alpha1.DrainTarget{nil, nil, {ofLogs}, {all}, {ofLogs, all}}).Draw(t, "drain plan")
}
