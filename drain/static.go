// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Removal is what becomes of a static pod, which no API server can evict: the kubelet runs it as long as it has its
// manifest.
type Removal struct {
	// Left is why the pod is not to be taken away: the drain does not wait for it. Empty: it is to go.
	Left string
	// Able: a process on the machine takes it away when Status.Static names it.
	Able bool
	// Trouble is why it stays, although it is to go. Empty where Able: nothing is known against it.
	Trouble string
}

// nobody is the Removal where Config.StaticPods is not set.
var nobody = Removal{Trouble: "nobody is there who takes static pods away"}

// statics asks what becomes of the static pods in scope.
func (r *run) statics(covered []*corev1.Pod) map[types.UID]Removal {
	var node *corev1.Node
	nodes, _ := r.node.List()
	for _, n := range nodes {
		if n.Name == r.req.NodeName {
			node = n
		}
	}
	return staticsOf(node, covered, r.d.config.StaticPods)
}

func staticsOf(node *corev1.Node, pods []*corev1.Pod, tell func(*corev1.Node, *corev1.Pod) Removal) map[types.UID]Removal {
	found := map[types.UID]Removal{}
	for _, pod := range pods {
		switch {
		case !isMirror(pod):
		case node == nil || tell == nil:
			found[pod.UID] = nobody
		default:
			found[pod.UID] = tell(node, pod)
		}
	}
	return found
}

// takeAway says what keeps a static pod whose turn has come. Where nothing does, it waits as long as the pod may take to end,
// and its kubelet to say so.
func (p *pacing) takeAway(l leaver, since time.Time) (hold *obstacle, wake time.Time) {
	s := p.facts.statics[l.pod.UID]
	if s.Able {
		p.statics = append(p.statics, l.pod)
	}
	if s.Trouble != "" {
		return &obstacle{reason: StaticPodStays, message: StaticPodStays.advise(s.Trouble)}, time.Time{}
	}
	if due := since.Add(graceOf(l.pod) + 2*overdueAfter); p.facts.now.Before(due) {
		return nil, due
	}
	return &obstacle{reason: StaticPodStays, message: StaticPodStays.advise(fmt.Sprintf("the pod was to be taken away, and its kubelet has "+
		"not confirmed its end in %s", graceOf(l.pod)+2*overdueAfter))}, time.Time{}
}

// graceOf is how long a pod may take to end by itself.
func graceOf(pod *corev1.Pod) time.Duration {
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		return time.Duration(*s) * time.Second
	}
	return corev1.DefaultTerminationGracePeriodSeconds * time.Second
}

// references names pods, sorted by namespace and name.
func references(pods []*corev1.Pod) []PodReference {
	var all []PodReference
	for _, pod := range pods {
		all = append(all, PodReference{types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, pod.UID})
	}
	slices.SortFunc(all, func(a, b PodReference) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return all
}
