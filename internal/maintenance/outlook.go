// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
	"github.com/slipway-k8s/slipway/internal/maintenance/rollout"
)

// Outlook is where the nodes of a maintenance are before anything more is done.
type Outlook struct {
	// Reason and Message are why none of its nodes begins, whoever waits. Empty: they may.
	Reason, Message string
	// Rollout is what decides who begins. Without spec.rollout, all that wait begin together.
	Rollout rollout.Facts
	// Standings say more of the nodes in Rollout, by name.
	Standings map[string]Standing
}

// Standing is what is to be said of a node before it begins.
type Standing struct {
	// Selected: it is one of the maintenance. Others are out for it, and return.
	Selected bool
	// Ready is what its kubelet says.
	Ready bool
	// Others are the names of the other maintenances that it is out for.
	Others []string
	// Ahead: for these, its drain is further than the first step of this maintenance
	// (KEP-4212, fast-forward).
	Ahead bool
	// Leased says who else works on it. Empty: nobody does. While others can begin, it does not.
	Leased string
	// Reason and Message are those of its failure.
	Reason, Message string
}

// Look is what Next would decide from about one of the maintenances, once those that are older
// have begun what they may.
func Look(f Facts, uid types.UID, now time.Time) (Outlook, error) {
	p := newPass(f, now)
	of := p.byUID[uid]
	if of == nil {
		return Outlook{}, fmt.Errorf("there is no NodeMaintenance with UID %q among the facts", uid)
	}
	p.findHeldBack()
	for _, m := range p.maintenances {
		p.judge(m)
	}
	for _, m := range p.maintenances {
		if m == of {
			break
		}
		p.begin(m)
	}
	o := Outlook{Reason: of.holdUp.reason, Message: of.holdUp.message, Rollout: p.rolloutFacts(of), Standings: map[string]Standing{}}
	for _, n := range o.Rollout.Nodes {
		o.Standings[n.Name] = p.standing(p.byName[n.Name], of)
	}
	return o, nil
}

func (p *pass) standing(n *node, m *maintained) Standing {
	s := Standing{Selected: m.selects(n), Ready: n.ready()}
	for _, entry := range slices.Concat(n.fors, n.begin) {
		if entry.UID != m.UID {
			s.Others = append(s.Others, entry.Name)
		}
	}
	slices.Sort(s.Others)
	s.Ahead = len(s.Others) > 0 && n.drain != nil && drainplan.Exceeds(targetsOf(n.drain), m.plan)
	if why, is := p.leasedByOthers(n); is {
		s.Leased = why.message
	}
	if r := n.recordOf(m); r != nil && r.State == RecordFailed {
		s.Reason, s.Message = r.Reason, r.Message
	}
	return s
}

// Asked is what the drain of a node is asked for when the plan of a maintenance has come to its
// last step, if no other maintenance has a say.
func Asked(m *slipwayv1alpha1.NodeMaintenance) slipwayv1alpha1.DrainParameters {
	wanted := slipwayv1alpha1.DrainParameters{Targets: planOf(m)}
	wanted.APIVersion, wanted.Kind = slipwayv1alpha1.GroupVersion.String(), "DrainParameters"
	if m.Spec.Drain != nil {
		sayHow(&wanted, m.Spec.Drain)
	}
	return wanted
}
