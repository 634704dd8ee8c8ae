// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// A node that somebody else uncordons while it is out is cordoned again (KEP-4212), by its
// drain: it begins anew when its parameters change, and the first thing that it does is to
// cordon. So they are changed to ones that mean the same: the first of the targets is there
// twice, or is not. How often that was, and when last, is written on the event: who insists is
// answered ever more seldom.

// AnnotationCordonedAgain on the event of a node's drain is how often the node was cordoned
// again, and when last.
const AnnotationCordonedAgain = "slipway.dev/cordoned-again"

const (
	againFirst = time.Minute
	againMax   = time.Hour
)

// uncordoned says whether somebody has uncordoned a node that is cordoned for its drain.
func (n *node) uncordoned() bool {
	return claimed(n.drain) && !n.Spec.Unschedulable && slices.Contains(n.CordonedFor, n.drain.UID)
}

// cordonAgain has the drain of a node cordon it again, if somebody has uncordoned it and the
// drain has seen the last change.
func (p *pass) cordonAgain(n *node, changed *lifecyclev1alpha1.LifecycleEvent) {
	if !n.uncordoned() || n.drain.Status.ObservedGeneration != n.drain.Generation {
		return
	}
	if _, lost := p.lostLease(n); lost {
		return
	}
	times, last := cordonedAgain(n.drain)
	if times > 0 {
		wait := min(againFirst<<min(times-1, 10), againMax)
		if at := last.Add(wait); p.now.Before(at) {
			p.wakeAt(at)
			return
		}
	}
	if changed.Annotations == nil {
		changed.Annotations = map[string]string{}
	}
	changed.Annotations[AnnotationCordonedAgain] = fmt.Sprintf("%d %s", times+1, stamp(p.now))
}

func cordonedAgain(e *lifecyclev1alpha1.LifecycleEvent) (times int, last time.Time) {
	count, at, _ := strings.Cut(e.Annotations[AnnotationCordonedAgain], " ")
	times, err := strconv.Atoi(count)
	if err != nil || times < 0 {
		return 0, time.Time{}
	}
	last, err = time.Parse(time.RFC3339, at)
	if err != nil {
		return 0, time.Time{}
	}
	return times, last
}

// stirred are targets that mean the same, and differ from those before each time that the
// node is to be cordoned again.
func stirred(e *lifecyclev1alpha1.LifecycleEvent, targets []slipwayv1alpha1.DrainTarget) []slipwayv1alpha1.DrainTarget {
	if times, _ := cordonedAgain(e); times%2 == 0 || len(targets) == 0 {
		return targets
	}
	return slices.Insert(slices.Clone(targets), 0, targets[0])
}

// distinct are the targets without what is there twice for that.
func distinct(targets []slipwayv1alpha1.DrainTarget) []slipwayv1alpha1.DrainTarget {
	return slices.CompactFunc(slices.Clone(targets), func(a, b slipwayv1alpha1.DrainTarget) bool {
		return equality.Semantic.DeepEqual(a, b)
	})
}
