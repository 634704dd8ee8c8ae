// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxReturns is how often the pods of a controller may come back to the node that they were evicted from. Once is
// chance: a binding that was under way. Again and again means that they tolerate everything, so that evicting them
// changes nothing but their age.
const maxReturns = 3

// returns counts, for a controller, the pods that the drain found on the node, those that it made to leave, and those
// that came later.
type returns struct {
	found, sent, came int
}

// recurring tells that each pod that was found has been sent away and has come back maxReturns times, on average. Pods
// that only come, as when a controller is scaled up, are no returns.
func (r returns) recurring() bool { return min(r.sent, r.came) >= maxReturns*max(r.found, 1) }

// recount takes in the pods in scope that were not there at the last look.
func recount(known map[types.UID]returns, fresh []*corev1.Pod) {
	found := map[types.UID]int{}
	for _, pod := range fresh {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || isMirror(pod) { // whose owner is the Node
			continue
		}
		r, seen := known[owner.UID]
		if seen {
			r.came++
			known[owner.UID] = r
		} else {
			found[owner.UID]++
		}
	}
	for uid, n := range found {
		known[uid] = returns{found: n}
	}
}

func recurs(pod *corev1.Pod, owner *metav1.OwnerReference) obstacle {
	by := fmt.Sprintf("%s %s/%s", owner.Kind, pod.Namespace, owner.Name)
	return obstacle{PodRecurring, by, PodRecurring.advise("pods of " + by + " came back to the node after each eviction, so they are not " +
		"evicted any more")}
}
