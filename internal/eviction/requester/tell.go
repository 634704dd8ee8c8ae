// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// told is how many pods or errors are told of in a line of the log: it is a node, which may
// lie, that says how many there are.
const told = 5

// tellRefused logs what was refused in a pass, in one line.
func tellRefused(ctx context.Context, refused []Refuse) {
	if len(refused) == 0 {
		return
	}
	lies := slices.DeleteFunc(slices.Clone(refused), func(s Refuse) bool { return !s.Lies })
	e := refused[0].Event
	logger := log.FromContext(ctx).WithValues("event", e.Name, "node", e.Spec.BindingNode)
	if len(lies) == 0 {
		logger.V(1).Info("Does not ask for the eviction of pods", "count", len(refused), "pods", texts(refused))
		return
	}
	logger.Error(errors.New("the event names pods that no drain of its node evicts"),
		"Refused to ask for the eviction of pods: the node may be compromised", "count", len(lies), "pods", texts(lies))
}

func texts(refused []Refuse) []string {
	var all []string
	for _, s := range refused[:min(told, len(refused))] {
		all = append(all, fmt.Sprintf("%.63s/%.253s (UID %.*s): %s", s.Pod.Namespace, s.Pod.Name, maxUID, s.Pod.UID, s.Why))
	}
	return all
}

// tellFailures logs what has failed in a pass, in one line, but for what a late watch
// explains.
func tellFailures(ctx context.Context, event types.UID, failures []error) {
	failures = slices.DeleteFunc(slices.Clone(failures), func(err error) bool {
		return errors.Is(err, errTaken) || errors.Is(err, errUnseen)
	})
	if len(failures) > 0 {
		log.FromContext(ctx).Error(errors.Join(failures[:min(told, len(failures))]...), "Failed; trying again",
			"eventUID", event, "count", len(failures))
	}
}
