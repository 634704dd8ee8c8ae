// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// holds is a server that has an event already.
type holds struct {
	client.WithWatch
	event *lifecyclev1alpha1.LifecycleEvent
}

func (h holds) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	return apierrors.NewAlreadyExists(schema.GroupResource{}, object.GetName())
}

func (h holds) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if event, ok := object.(*lifecyclev1alpha1.LifecycleEvent); ok {
		h.event.DeepCopyInto(event)
	}
	return nil
}

func TestWhatOthersHaveWrittenDoesNothingToTheTerminalOfADrain(t *testing.T) {
	t.Run("of a drain that goes on already", func(t *testing.T) {
		tool, _, errOut := clitest.Tool()
		p := pursuitOf(tool, cli.Human, cli.DryRunNone)
		p.wanted = []*lifecyclev1alpha1.LifecycleEvent{clitest.DrainOf(t, "worker-1")}
		p.requester = requester{client: holds{event: clitest.HostileDrain(t, "worker-1", clitest.HostileProgress)}, notes: tool.ErrOut}
		if err := p.askAll(t.Context(), func(*lifecyclev1alpha1.LifecycleEvent) {}); err != nil {
			t.Fatal(err)
		}
		clitest.WantHarmless(t, errOut.String())
	})
	t.Run("of one that is in the way", func(t *testing.T) {
		tool, _, errOut := clitest.Tool()
		there := clitest.HostileDrain(t, "worker-1", clitest.HostileProgress)
		there.Spec.SLA = nil
		command := &cobra.Command{SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			return conflict(there, clitest.DrainOf(t, "worker-1"))
		}}
		command.SetArgs([]string{})
		command.SetErr(tool.ErrOut)
		cli.Run(t.Context(), command)
		clitest.WantHarmless(t, errOut.String())
	})
	for name, status := range map[string]string{
		"progress": clitest.HostileProgress, "wait": clitest.HostileWait, "failure": clitest.HostileFailure, "success": clitest.HostileSuccess,
		"return": clitest.HostileReturn, "cancel": clitest.HostileCancel, "expiry": clitest.HostileExpiry,
	} {
		t.Run("while and after it goes on/"+name, func(t *testing.T) {
			tool, out, errOut := clitest.Tool()
			event := clitest.HostileDrain(t, "worker-1", status)
			p := pursuitOf(tool, cli.Human, cli.DryRunNone)
			p.verb, p.byTimeout, p.asked = drained, true, map[string]asked{event.Name: {event: event}}
			told := progress.New(progress.Asked{Node: "worker-1", Event: event.Name})
			told.Begin(clitest.Noon)
			told.Saw(event, clitest.Noon)
			told.Lost(clitest.Hostile, clitest.Noon)
			(&follow.Screen{Manner: follow.Terminal, Out: out, Style: func() ui.Style { return ui.Style{Width: 80, Height: 24} }}).Show(told, clitest.Noon)
			lines := &follow.Screen{Manner: follow.Lines, Out: out}
			lines.Show(told, clitest.Noon)
			lines.Show(told, clitest.Noon.Add(time.Minute))
			_ = p.timedOut(t.Context(), told)
			p.refused = map[string][]lifecyclev1alpha1.Blocker{event.Name: event.Status.Blockers}
			p.sayEnd(told.All()[0])
			clitest.WantHarmless(t, out.String()+errOut.String())
		})
		t.Run("of one that is canceled/"+name, func(t *testing.T) {
			tool, out, _ := clitest.Tool()
			event := clitest.HostileDrain(t, "worker-1", status)
			told := progress.New(progress.Asked{Node: "worker-1", Event: event.Name})
			told.Begin(clitest.Noon)
			told.Saw(event, clitest.Noon)
			tool.Sayf("%s", canceledText(told.All()[0], nil))
			if strings.Contains(out.String(), "owned") {
				clitest.WantHarmless(t, out.String())
			}
		})
	}
}
