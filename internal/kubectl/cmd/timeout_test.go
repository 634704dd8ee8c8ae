// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/request"
)

// deletes is a server that answers every deletion in one way.
type deletes struct {
	client.WithWatch
	answer error
}

func (d deletes) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	return d.answer
}

// The statuses that an event has when the time to wait is over.
const (
	hasSucceeded = `{claimStatus: Succeeded, driver: {name: d, start: s, end: drain-complete}}`
	hasFailed    = `{claimStatus: Failed, driver: {name: d, start: s, end: drain-complete}, conditions: [{type: Finished, status: "True", reason: DriverFailed, message: "spec.parameters.targets: is not understood"}]}`
	wasCanceled  = `{claimStatus: Failed, conditions: [{type: Finished, status: "True", reason: Canceled, message: the event was deleted}]}`
	isClaimed    = `{claimStatus: Claimed, driver: {name: d, start: s, end: drain-complete}, progress: {total: 3, done: 1}}`
	waitsForTurn = `{claimStatus: Pending, conditions: [{type: Claimable, status: "False", reason: WaitingForTurn, message: "LifecycleEvent a is before it"}]}`
	notAsked     = ""
)

func TestWhenTheTimeIsOverEachNodesEndIsSaidAndTheWorstIsTheExitCode(t *testing.T) {
	for name, tc := range map[string]struct {
		statuses []string
		answer   error // of the server, to a withdrawal
		want     int
	}{
		"one-goes-on":                   {[]string{isClaimed}, nil, Blocked},
		"one-is-done-and-one-goes-on":   {[]string{hasSucceeded, isClaimed}, nil, Blocked},
		"one-failed-and-one-goes-on":    {[]string{hasFailed, isClaimed}, nil, Failed},
		"one-is-canceled-one-waits":     {[]string{wasCanceled, waitsForTurn}, nil, Canceled},
		"all-have-just-ended":           {[]string{hasSucceeded, hasSucceeded}, nil, Done},
		"one-cannot-be-withdrawn":       {[]string{waitsForTurn, hasFailed, isClaimed}, errors.New("the server is away"), Error},
		"one-was-never-asked-for":       {[]string{isClaimed, notAsked}, nil, Blocked},
		"what-waits-alone-is-withdrawn": {[]string{waitsForTurn}, nil, Blocked},
	} {
		t.Run(name, func(t *testing.T) {
			tool, out, errOut := testTool()
			p := &pursuit{
				tool: tool, verb: drained, byTimeout: true, asked: map[string]asked{},
				asker: asker{client: deletes{answer: tc.answer}, notes: errOut},
			}
			code, rest := codeOf(p.timedOut(t.Context(), p.toldOf(t, tc.statuses)))
			if code != tc.want || rest != nil {
				t.Errorf("exit code %d, %v; want %d", code, rest, tc.want)
			}
			golden(t, "timeout/"+name, out.String()+"--- stderr\n"+errOut.String())
		})
	}
}

// toldOf is what has been seen of the drains of worker-1, worker-2 and so on.
func (p *pursuit) toldOf(t *testing.T, statuses []string) *progress.Model {
	t.Helper()
	var followed []progress.Asked
	nodes := []string{"worker-1", "worker-2", "worker-3"}[:len(statuses)]
	for _, node := range nodes {
		followed = append(followed, progress.Asked{Node: node, Event: request.DrainName(node), Expected: true})
	}
	told := progress.New(followed...)
	told.Begin(noon)
	for i, node := range nodes {
		if statuses[i] == notAsked {
			continue
		}
		event := drainOf(t, node)
		if err := yaml.UnmarshalStrict([]byte(statuses[i]), &event.Status); err != nil {
			t.Fatal(err)
		}
		p.asked[event.Name] = asked{event: event, ours: true}
		told.Expect(event, noon)
		told.SawEvent(event, noon)
	}
	return told
}

func TestADrainThatCouldNotBeWithdrawnIsTriedAgainAndSaidOnce(t *testing.T) {
	tool, _, errOut := testTool()
	event := drainOf(t, "worker-1")
	p := &pursuit{
		tool: tool, asked: map[string]asked{event.Name: {event: event, ours: true}}, refused: map[string][]lifecyclev1alpha1.Blocker{},
		asker: asker{client: deletes{answer: errors.New("the server is away")}},
	}
	pods := []lifecyclev1alpha1.Blocker{{Object: "Pod shop/bare", Reason: "UnmanagedPod"}}
	for range 3 {
		if p.onRefusal(t.Context(), event, pods) {
			t.Error("it is done with, and the event is still there")
		}
	}
	if said := strings.Count(errOut.String(), "the server is away"); said != 1 || len(p.refused) > 0 {
		t.Errorf("it is said %d times, and withdrawn is %v", said, p.refused)
	}
	p.asker.client = deletes{}
	if !p.onRefusal(t.Context(), event, pods) || len(p.refused[event.Name]) != 1 {
		t.Errorf("when the server is there again, withdrawn is %v", p.refused)
	}
}
