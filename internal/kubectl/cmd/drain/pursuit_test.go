// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// follows plays a file of events, one after the other and 5 s apart, on a screen, and gives
// what is printed then, as by drain or uncordon.
func follows(t *testing.T, file, verb string, output cli.Format, style *ui.Style) string {
	t.Helper()
	tool, out, errOut := clitest.Tool()
	p := pursuitOf(tool, output, cli.DryRunNone)
	p.verb = verb
	screen := p.screen()
	if style != nil && style.Terminal {
		screen = &follow.Screen{Manner: follow.Terminal, Out: out, Style: func() ui.Style { return *style }}
	}
	steps := clitest.Read[lifecyclev1alpha1.LifecycleEvent](t, file)
	var asked []progress.Asked
	known := map[string]bool{}
	for _, event := range steps {
		if !known[event.Name] {
			asked = append(asked, progress.Asked{Node: event.Spec.BindingNode, Event: event.Name})
		}
		known[event.Name] = true
	}
	told, now := progress.New(asked...), clitest.Noon
	told.Begin(now)
	screen.Show(told, now)
	for _, event := range steps {
		now = now.Add(5 * time.Second)
		if event.Status.ClaimStatus.Terminal() {
			told.Gone(event, now)
		} else {
			told.Saw(event, now)
		}
		for _, one := range told.All() {
			if pods := one.Refused(); len(pods) > 0 {
				p.refused[one.Name()] = pods
			}
		}
		screen.Show(told, now)
	}
	now = now.Add(time.Minute)
	screen.Show(told, now)
	shown := out.String()
	return shown + "--- then\n" + ended(p, told, out, errOut)
}

// ended is what is printed at last, and the exit code.
func ended(p *pursuit, told *progress.Model, out, errOut *bytes.Buffer) string {
	out.Reset()
	code, _ := cli.CodeOf(p.sum(told))
	return fmt.Sprintf("%s--- stderr\n%s--- exit code %d\n", out, errOut, code)
}

func TestWhatADrainAndAReturnShow(t *testing.T) {
	for file, verb := range map[string]string{"drain": "drained", "drain-refused": "drained", "drain-ends": "drained", "uncordon": "uncordoned"} {
		for name, style := range clitest.Styles {
			t.Run(file+"/"+name, func(t *testing.T) {
				clitest.Golden(t, file+"/"+name, follows(t, file+".yaml", verb, cli.Human, &style))
			})
		}
		t.Run(file+"/json", func(t *testing.T) {
			clitest.Golden(t, file+"/json", follows(t, file+".yaml", verb, cli.JSON, nil))
		})
	}
}

func TestWhatCancelShows(t *testing.T) {
	var text string
	for _, tc := range []struct {
		status string
		by     string
		node   *corev1.Node
	}{
		{`{claimStatus: Failed, conditions: [{type: Finished, status: "True", reason: Canceled}]}`, "ada", &corev1.Node{}},
		{`{claimStatus: Failed, conditions: [{type: Finished, status: "True", reason: Canceled}]}`, "ada", &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}},
		{`{claimStatus: Pending}`, "ada", nil},
		{`{claimStatus: Succeeded}`, "ada", &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}},
	} {
		event := clitest.Read[lifecyclev1alpha1.LifecycleEvent](t, "uncordon.yaml")[0]
		event.Status = lifecyclev1alpha1.LifecycleEventStatus{}
		if err := yaml.UnmarshalStrict([]byte(tc.status), &event.Status); err != nil {
			t.Fatal(err)
		}
		event.Spec.RequestedBy, event.Spec.Reason = tc.by, "firmware"
		told := progress.New(progress.Asked{Node: "worker-1", Event: event.Name})
		told.Begin(clitest.Noon)
		told.Gone(event, clitest.Noon)
		text += canceledText(told.All()[0], tc.node)
	}
	clitest.Golden(t, "cancel/outcomes", text)
}

func TestWhatIsAskedForIsPrintedForPrograms(t *testing.T) {
	events := clitest.Read[lifecyclev1alpha1.LifecycleEvent](t, "uncordon.yaml")
	for _, f := range []cli.Format{cli.JSON, cli.YAML, cli.Name} {
		tool, out, _ := clitest.Tool()
		for _, some := range [][]*lifecyclev1alpha1.LifecycleEvent{events[:1], events[:2]} {
			p := pursuitOf(tool, f, cli.DryRunNone)
			p.wanted = some
			for _, event := range some {
				p.asked[event.Name] = asked{event: event, isNew: true}
			}
			if err := p.printAsked(); err != nil {
				t.Fatal(err)
			}
		}
		clitest.Golden(t, "events/"+string(f), out.String())
	}
}

func TestHelpSaysWhatIsNeeded(t *testing.T) {
	for _, command := range []string{"drain", "uncordon", "cancel"} {
		out, errOut, code := execute(t, command, "--help")
		if code != cli.Done || errOut != "" {
			t.Errorf("exit code %d; stderr %q", code, errOut)
		}
		clitest.Golden(t, "help/"+command, out)
	}
}

func TestCancelSaysWhoseEventItEndsAlsoToWhoDoesNotWait(t *testing.T) {
	tool, out, _ := clitest.Tool()
	event := clitest.DrainOf(t, "worker-1", func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.RequestedBy, e.Spec.Reason = "ada", clitest.Hostile })
	p := &canceling{Tool: tool, cluster: cli.Cluster{Home: apigroup.In(lifecyclev1alpha1.GroupKubernetes)}, requester: requester{client: deletes{}, notes: tool.ErrOut}, events: []*lifecyclev1alpha1.LifecycleEvent{event}}
	if err := p.deleteAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	clitest.WantHarmless(t, out.String())
	if !strings.Contains(out.String(), "/drain-worker-1, requested by ada (") {
		t.Errorf("it prints %q", out)
	}
}

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
	isClaimed    = `{claimStatus: Claimed, claimedBy: {kind: NodeAgent, identity: worker-1}, driver: {name: d, start: s, end: drain-complete}, progress: {total: 3, done: 1}}`
	waitsForTurn = `{claimStatus: Pending, conditions: [{type: Claimable, status: "False", reason: WaitingForTurn, message: "LifecycleEvent a is before it"}]}`
	notAsked     = ""
)

func TestWhenTheTimeIsOverEachNodesEndIsSaidAndTheWorstIsTheExitCode(t *testing.T) {
	for name, tc := range map[string]struct {
		statuses []string
		answer   error // of the server, to a withdrawal
		want     int
	}{
		"one-goes-on":                   {[]string{isClaimed}, nil, cli.TimedOut},
		"one-is-done-and-one-goes-on":   {[]string{hasSucceeded, isClaimed}, nil, cli.TimedOut},
		"one-failed-and-one-goes-on":    {[]string{hasFailed, isClaimed}, nil, cli.Failed},
		"one-is-canceled-one-waits":     {[]string{wasCanceled, waitsForTurn}, nil, cli.Canceled},
		"all-have-just-ended":           {[]string{hasSucceeded, hasSucceeded}, nil, cli.Done},
		"one-cannot-be-withdrawn":       {[]string{waitsForTurn, hasFailed, isClaimed}, errors.New("the server is away"), cli.Error},
		"one-was-never-asked-for":       {[]string{isClaimed, notAsked}, nil, cli.TimedOut},
		"what-waits-alone-is-withdrawn": {[]string{waitsForTurn}, nil, cli.TimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			tool, out, errOut := clitest.Tool()
			p := pursuitOf(tool, cli.Human, cli.DryRunNone)
			p.verb, p.byTimeout, p.requester = drained, true, requester{client: deletes{answer: tc.answer}, notes: errOut}
			code, rest := cli.CodeOf(p.timedOut(t.Context(), p.toldOf(t, tc.statuses)))
			if code != tc.want || rest != nil {
				t.Errorf("exit code %d, %v; want %d", code, rest, tc.want)
			}
			clitest.Golden(t, "timeout/"+name, out.String()+"--- stderr\n"+errOut.String())
		})
	}
}

// toldOf is what has been seen of the drains of worker-1, worker-2 and so on.
func (p *pursuit) toldOf(t *testing.T, statuses []string) *progress.Model {
	t.Helper()
	var followed []progress.Asked
	nodes := []string{"worker-1", "worker-2", "worker-3"}[:len(statuses)]
	for _, node := range nodes {
		followed = append(followed, progress.Asked{Node: node, Event: "drain-" + node, Expected: true})
	}
	told := progress.New(followed...)
	told.Begin(clitest.Noon)
	for i, node := range nodes {
		if statuses[i] == notAsked {
			continue
		}
		event := clitest.DrainOf(t, node)
		if err := yaml.UnmarshalStrict([]byte(statuses[i]), &event.Status); err != nil {
			t.Fatal(err)
		}
		p.asked[event.Name] = asked{event: event, isNew: true}
		told.Expect(event, clitest.Noon)
		told.Saw(event, clitest.Noon)
	}
	return told
}

func TestADrainThatCouldNotBeWithdrawnIsTriedAgainAndSaidOnce(t *testing.T) {
	tool, _, errOut := clitest.Tool()
	event := clitest.DrainOf(t, "worker-1")
	p := pursuitOf(tool, cli.Human, cli.DryRunNone)
	p.asked, p.requester = map[string]asked{event.Name: {event: event, isNew: true}}, requester{client: deletes{answer: errors.New("the server is away")}}
	pods := []lifecyclev1alpha1.Blocker{{Object: "Pod shop/bare", Reason: "UnmanagedPod"}}
	for range 3 {
		if p.onRefusal(t.Context(), event, pods) {
			t.Error("it is done with, and the event is still there")
		}
	}
	if said := strings.Count(errOut.String(), "the server is away"); said != 1 || len(p.refused) > 0 {
		t.Errorf("it is said %d times, and withdrawn is %v", said, p.refused)
	}
	p.requester.client = deletes{}
	if !p.onRefusal(t.Context(), event, pods) || len(p.refused[event.Name]) != 1 {
		t.Errorf("when the server is there again, withdrawn is %v", p.refused)
	}
}
