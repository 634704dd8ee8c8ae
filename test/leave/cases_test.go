// SPDX-License-Identifier: Apache-2.0

package leave

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/test/harness"
)

// cases are told on a server of either kind.
var cases = map[string]func(*scene){
	"a pod with responders is left to them, and all others are evicted": func(s *scene) {
		db, web := s.podWithBackup("left-db"), s.pod("left-web")
		s.drain(auto)
		s.awaitLeft(db)
		s.node.AwaitPodsGone(client.MatchingLabels{"app": "left-web"})
		s.eviction(db)
		s.awaitBlocker("AwaitingResponder", db)
		s.change(db, completes)
		s.remove(db)
		s.succeeds()
		s.node.EvictedOnly(web)
	},
	"who has begun to respond is not stopped when the agent restarts": func(s *scene) {
		db := s.podWithBackup("restart-db")
		agent := s.drain(auto)
		s.awaitLeft(db)
		s.eviction(db)
		s.awaitBlocker("AwaitingResponder", db)
		agent.Kill()
		s.node.Agent("")
		s.change(db, says("half done"))
		s.env.AwaitEvent(s.T, s.event, "says what the responder says", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
			if len(e.Status.LeftToResponders) == 0 {
				s.Error("the pod is not named any more: its request would be withdrawn")
			}
			return len(e.Status.Blockers) == 1 && strings.Contains(e.Status.Blockers[0].Message, "half done")
		})
		s.change(db, completes)
		s.remove(db)
		s.succeeds()
		s.node.EvictedOnly()
	},
	"a drain that is canceled names no pod any more, and leaves it alone": func(s *scene) {
		db := s.podWithBackup("canceled-db")
		s.drain(auto)
		s.awaitLeft(db)
		s.eviction(db)
		s.awaitBlocker("AwaitingResponder", db)
		s.must(s.env.Client.Delete(s.Context(), &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: s.event}}))
		ended := s.env.Outcome(s.T, s.event)
		if finished := harness.Finished(ended); finished.Reason != lifecyclev1alpha1.ReasonCanceled || len(ended.Status.LeftToResponders) > 0 {
			s.Errorf("the event has ended because of %s, and names %v", finished.Reason, ended.Status.LeftToResponders)
		}
		s.env.Untouched(s.T, db)
		s.node.EvictedOnly()
	},
	"a pod is evicted all the same if nobody answers": func(s *scene) {
		db := s.podWithBackup("alone-db")
		began := time.Now()
		s.drain(auto)
		s.awaitLeft(db)
		s.succeeds()
		if took := time.Since(began); took < drain.ResponderPatience {
			s.Errorf("it was evicted after %s, and there was to be patience for %s", took, drain.ResponderPatience)
		}
		s.node.EvictedOnly(db)
	},
	"a pod is evicted all the same if its responders fail": func(s *scene) {
		db := s.podWithBackup("failed-db")
		s.drain(auto)
		s.awaitLeft(db)
		s.eviction(db)
		s.awaitBlocker("AwaitingResponder", db)
		s.change(db, completes)
		s.change(db, fails)
		s.succeeds()
		s.node.EvictedOnly(db)
	},
	"nothing happens to a pod behind the back of a responder that somebody else has asked for": func(s *scene) {
		db, held := s.pod("elsewhere-db"), s.node.HeldPod("elsewhere-held")
		s.eviction(db)
		s.drain(func(p *slipwayv1alpha1.DrainParameters) {
			p.Mode = slipwayv1alpha1.DrainEviction
			p.Escalation = &slipwayv1alpha1.DrainEscalation{DeleteAfter: &metav1.Duration{Duration: time.Second}}
		})
		s.awaitBlocker("AwaitingResponder", db)
		s.node.AwaitPodsGone(client.MatchingLabels(held.Labels)) // deleted, by when the other would have been
		s.env.Untouched(s.T, db)
		s.awaitLeft() // this mode names none
		s.change(db, completes)
		s.change(db, fails)
		s.succeeds()
		s.node.EvictedOnly(db)
	},
	"in mode EvictionRequest every pod is left, and none is evicted": func(s *scene) {
		web := s.pod("all-web")
		s.drain(in(slipwayv1alpha1.DrainEvictionRequest))
		s.awaitLeft(web)
		s.eviction(web)
		s.awaitBlocker("AwaitingResponder", web)
		s.change(web, completes)
		s.change(web, fails)
		s.awaitBlocker("RespondersFailed", web)
		s.env.Untouched(s.T, web)
		s.remove(web)
		s.succeeds()
		s.node.EvictedOnly()
	},
}
