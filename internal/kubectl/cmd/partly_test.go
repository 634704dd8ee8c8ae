// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/request"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// refuses is a server that creates no event of this name.
type refuses struct {
	client.WithWatch
	name string
}

var errRefused = errors.New("an admission policy says no")

func (r refuses) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	if object.GetName() == r.name {
		return errRefused
	}
	object.SetUID(types.UID(object.GetName()))
	return nil
}

// drainsOf asks for drains of four nodes; that of worker-3 is refused.
func drainsOf(t *testing.T, output format) (p *pursuit, printed func() string) {
	t.Helper()
	tool, out, errOut := testTool()
	p = &pursuit{
		tool: tool, verb: drained, output: output, cluster: cluster{home: apigroup.In(lifecyclev1alpha1.GroupKubernetes)},
		asker: asker{client: refuses{name: "drain-worker-3"}, notes: errOut},
	}
	for _, node := range []string{"worker-1", "worker-2", "worker-3", "worker-4"} {
		p.wanted = append(p.wanted, drainOf(t, node))
	}
	return p, func() string { return out.String() + "--- stderr\n" + errOut.String() }
}

func TestWhatWasBegunIsSaidWhereTheRestIsRefused(t *testing.T) {
	for name, output := range map[string]format{"people": people, "name": names, "json": jsonText} {
		t.Run(name, func(t *testing.T) {
			p, printed := drainsOf(t, output)
			if err := p.begin(t.Context(), dryRunNone); !errors.Is(err, errRefused) {
				t.Errorf("it ends with %v", err)
			}
			golden(t, "partly/not-waited-"+name, printed())
		})
		t.Run(name+"/dry", func(t *testing.T) {
			p, printed := drainsOf(t, output)
			if err := p.begin(t.Context(), dryRunServer); !errors.Is(err, errRefused) {
				t.Errorf("it ends with %v", err)
			}
			golden(t, "partly/dry-"+name, printed())
		})
		t.Run(name+"/followed", func(t *testing.T) {
			p, printed := drainsOf(t, output)
			var followed []progress.Asked
			for _, event := range p.wanted {
				followed = append(followed, progress.Asked{Node: event.Spec.BindingNode, Event: event.Name, Expected: true})
			}
			told := progress.New(followed...)
			told.Begin(noon)
			err := p.askAll(t.Context(), func(event *lifecyclev1alpha1.LifecycleEvent) { told.Expect(event, noon) })
			ended := drainOf(t, "worker-1", func(e *lifecyclev1alpha1.LifecycleEvent) {
				e.UID, e.Status.ClaimStatus = types.UID(e.Name), lifecyclev1alpha1.Succeeded
			})
			told.EventGone(ended, noon)
			p.stopped(told, err)
			golden(t, "partly/followed-"+name, printed())
		})
	}
}

func TestNothingIsSaidToGoOnWhereNothingWasBegun(t *testing.T) {
	p, printed := drainsOf(t, people)
	p.asker.client = refuses{name: request.DrainName("worker-1")}
	if err := p.begin(t.Context(), dryRunNone); !errors.Is(err, errRefused) {
		t.Errorf("it ends with %v", err)
	}
	if text := printed(); text != "--- stderr\n" {
		t.Errorf("it prints\n%s", text)
	}
}
