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

// Outlook is the state of the nodes of a maintenance before the next step, for forecasts.
type Outlook struct {
	// Reason and Message are why none of its nodes begins. Empty: they may.
	Reason, Message string
	// Rollout is what package rollout decides from. Without spec.rollout, all nodes that wait begin
	// together.
	Rollout rollout.Facts
	// Nodes say more of the nodes in Rollout, by name.
	Nodes map[string]NodeOutlook
}

// NodeOutlook is the state of one node.
type NodeOutlook struct {
	// Selected: the maintenance selects the node. Other nodes are out for it, and return.
	Selected bool
	// Ready is what its kubelet says.
	Ready bool
	// Others are the names of the other maintenances that it is out for.
	Others []string
	// Ahead: for these, its drain is further than the first step of this maintenance
	// (KEP-4212, fast-forward).
	Ahead bool
	// Leased says which other tool has the node's lease. Empty: none has. While other nodes can
	// begin, this one does not.
	Leased string
	// Reason and Message say why it has failed.
	Reason, Message string
}

// Look returns what Next would decide from about one of the maintenances, once the older ones have
// begun what they may.
func Look(f Facts, uid types.UID, now time.Time) (Outlook, error) {
	s := judged(newView(f, now))
	of := s.byUID[uid]
	if of == nil {
		return Outlook{}, fmt.Errorf("there is no NodeMaintenance with UID %q among the facts", uid)
	}
	for _, m := range s.maintenances[:slices.Index(s.maintenances, of)] {
		s.begin(m)
	}
	holdUp := s.of[uid].holdUp
	o := Outlook{Reason: holdUp.reason, Message: holdUp.message, Rollout: s.rolloutFacts(of), Nodes: map[string]NodeOutlook{}}
	for _, n := range o.Rollout.Nodes {
		o.Nodes[n.Name] = s.outlook(s.byName[n.Name], of)
	}
	return o, nil
}

func (s *selection) outlook(n *node, m *maintenance) NodeOutlook {
	o := NodeOutlook{Selected: m.selects(n), Ready: n.ready()}
	for _, ref := range slices.Concat(n.refs, s.begins[n.name]) {
		if ref.UID != m.UID {
			o.Others = append(o.Others, ref.Name)
		}
	}
	slices.Sort(o.Others)
	o.Ahead = len(o.Others) > 0 && n.drain != nil && drainplan.Exceeds(targetsOf(n.drain), m.plan)
	if why, is := s.leasedByOthers(n); is {
		o.Leased = why.message
	}
	if r := n.recordOf(m); r != nil && r.State == RecordFailed {
		o.Reason, o.Message = r.Reason, r.Message
	}
	return o
}

// Asked returns the parameters of a drain in the last step of the plan of a maintenance, for a
// node that is out for no other.
func Asked(m *slipwayv1alpha1.NodeMaintenance) slipwayv1alpha1.DrainParameters {
	wanted := slipwayv1alpha1.DrainParameters{Targets: planOf(m)}
	wanted.APIVersion, wanted.Kind = slipwayv1alpha1.GroupVersion.String(), "DrainParameters"
	if m.Spec.Drain != nil {
		setHow(&wanted, m.Spec.Drain)
	}
	return wanted
}
