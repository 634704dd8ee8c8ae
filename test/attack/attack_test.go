// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/slipway-k8s/slipway/test/harness"
)

// attempt is one thing that somebody tries who may not, and that others may.
type attempt struct {
	by    string // whose credentials: scene.as
	try   try
	guard string // who refuses it
	may   string // whose credentials are good for it, or nobody
}

// try makes one request. It must not change anything.
type try func(context.Context, *scene, hand) error

// inForce is how long policies, rights and the Node authorizer's graph may take.
const inForce = time.Minute

func TestWhatAStolenTokenIsGoodFor(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	all := map[string]attempt{}
	for _, some := range []map[string]attempt{
		onPods, onNodes, onShutdowns, onEventsOfOthers, onOwnEvents, onRequests, onTheCatalogue, onIdentities, byADriver,
	} {
		before := len(all)
		maps.Copy(all, some)
		if len(all) != before+len(some) {
			t.Fatal("two attempts have the same name")
		}
	}
	s.awaitPolicies(t, all)
	for name, a := range all {
		t.Run(name, func(t *testing.T) {
			err := a.try(t.Context(), s, s.as(t, a.by))
			if got := guardOf(err); got != a.guard {
				t.Errorf("it was refused by %s, want %s: %v", got, a.guard, err)
			}
			if a.may != nobody {
				s.succeeds(t, a.may, a.try)
			}
		})
	}
}

// succeeds tries until it works: what gives the right may be seconds old.
func (s *scene) succeeds(t *testing.T, by string, try try) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, inForce, true, func(ctx context.Context) (bool, error) {
		last = try(ctx, s, s.as(t, by))
		return last == nil, nil
	})
	if err != nil {
		t.Errorf("%s may not either: %v", by, last)
	}
}

// awaitPolicies waits until each policy refuses something, which no watch shows.
func (s *scene) awaitPolicies(t *testing.T, all map[string]attempt) {
	t.Helper()
	first := map[string]attempt{}
	for _, a := range all {
		first[a.guard] = a
	}
	for guard, a := range first {
		if !policyGuards[guard] {
			continue
		}
		s.awaitRefusal(t, a)
	}
}

var policyGuards = map[string]bool{byAgentEvents: true, byTransitions: true, byRequester: true, byOverride: true, byReleases: true, byHolds: true, byBreakGlass: true, byGuards: true, byRecords: true, byNodeRecords: true, bySizes: true, byUse: true, byJobs: true, byEqualJobs: true}

func (s *scene) awaitRefusal(t *testing.T, a attempt) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, inForce, true, func(ctx context.Context) (bool, error) {
		last = a.try(ctx, s, s.as(t, a.by))
		return guardOf(last) == a.guard, nil
	})
	if err != nil {
		t.Fatal(fmt.Errorf("%s does not come into force; the last answer was: %w", a.guard, last))
	}
}

// An agent can do its own job: what it may not do to B, it may do to A.
func TestAnAgentCanDoItsOwnJob(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	for name, job := range map[string]struct {
		by  string
		try try
	}{
		"list the pods of its node":            {nodeA, listPodsOf(ofA)},
		"evict a pod of its node":              {nodeA, evictPodOf(ofA)},
		"delete a pod of its node":             {nodeA, deletePodOf(ofA)},
		"cordon its node":                      {nodeA, cordon(ofA)},
		"write conditions of its node":         {nodeA, writeConditions(ofA)},
		"tell of its node":                     {nodeA, tellOf(ofA)},
		"claim an event of its node":           {agentA, claim(ofA, ofA)},
		"fail an event of its node":            {agentA, fail(ofA)},
		"protect an event of its node":         {agentA, protect(ofA)},
		"complete an event of its node":        {agentA, complete(ofA)},
		"release an event of its node":         {agentA, release(ofA)},
		"delete an event of its node":          {agentA, deleteEnded(ofA)},
		"publish for its node":                 {agentA, publishFor(ofA)},
		"withdraw what is for its node":        {agentA, withdraw(ofA)},
		"run a Job as administrators wrote it": {controller, runJob(harness.JobNamespace, asAdministratorsWrote)},
	} {
		t.Run(name, func(t *testing.T) { s.succeeds(t, job.by, job.try) })
	}
}
