// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/slipwayclient"
)

func TestAnEventIsOnlyCreatedWhereNoneIsInItsWay(t *testing.T) {
	elsewhere := func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.BindingNode = "worker-2" }
	ended := func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status.ClaimStatus = lifecyclev1alpha1.Succeeded }
	canceled := func(e *lifecyclev1alpha1.LifecycleEvent) { e.DeletionTimestamp = &metav1.Time{Time: clitest.Noon} }
	longer := func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.SLA = &metav1.Duration{Duration: 48 * time.Hour} }
	worker1 := clitest.DrainOf(t, "worker-1")
	for name, tc := range map[string]struct {
		there, wanted *lifecyclev1alpha1.LifecycleEvent
		want          []string // nothing: it is not in the way
	}{
		"the same drain is followed":               {clitest.DrainOf(t, "worker-1"), worker1, nil},
		"one with another deadline is not":         {clitest.DrainOf(t, "worker-1", longer), worker1, []string{"spec.sla is 48h0m0s there", "cancel worker-1"}},
		"nor one of another node under its name":   {clitest.DrainOf(t, "worker-1", elsewhere), worker1, []string{"spec.bindingNode is worker-2 there, and worker-1 here", "cancel worker-2"}},
		"a drain of another node is left alone":    {clitest.DrainOf(t, "worker-2"), worker1, nil},
		"one that has ended is replaced":           {clitest.DrainOf(t, "worker-1", elsewhere, ended), worker1, nil},
		"and so is one that is being canceled":     {clitest.DrainOf(t, "worker-1", canceled), worker1, nil},
		"a return does not wait for a drain":       {clitest.DrainOf(t, "worker-1"), slipwayclient.Return("worker-1", ""), []string{"only follow it", "cancel worker-1"}},
		"but for that of its own node":             {clitest.DrainOf(t, "worker-2"), slipwayclient.Return("worker-1", ""), nil},
		"even where that goes by another's name":   {clitest.DrainOf(t, "worker-1", elsewhere), slipwayclient.Return("worker-1", ""), nil},
		"a drain waits for the return of its node": {slipwayclient.Return("worker-1", ""), worker1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			err := conflict(tc.there, tc.wanted)
			if (err != nil) != (len(tc.want) > 0) {
				t.Fatalf("in its way: %v", err)
			}
			for _, text := range tc.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in %q", text, err)
				}
			}
		})
	}
}

// keeps is a server that has an event until it is deleted.
type keeps struct {
	client.WithWatch
	there   *lifecyclev1alpha1.LifecycleEvent
	deleted chan watch.Event
}

func keeping(there *lifecyclev1alpha1.LifecycleEvent) *keeps {
	return &keeps{there: there, deleted: make(chan watch.Event, 1)}
}

func (k *keeps) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	if k.there == nil {
		return nil
	}
	return apierrors.NewAlreadyExists(schema.GroupResource{}, object.GetName())
}

func (k *keeps) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if event, ok := object.(*lifecyclev1alpha1.LifecycleEvent); ok {
		k.there.DeepCopyInto(event)
	}
	return nil
}

func (k *keeps) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return watch.NewProxyWatcher(k.deleted), nil
}

func (k *keeps) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	k.deleted <- watch.Event{Type: watch.Deleted, Object: k.there}
	k.there = nil
	return nil
}

// areOver are events of somebody that are in nobody's way any more.
func areOver(t *testing.T) map[string]*lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	ofAda := func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.RequestedBy, e.Spec.Reason = "ada", "firmware" }
	return map[string]*lifecyclev1alpha1.LifecycleEvent{
		"Deleting LifecycleEvent drain-worker-1, requested by ada (firmware), which has ended as Succeeded, so that this one takes its place.\n": clitest.DrainOf(
			t, "worker-1", ofAda, func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status.ClaimStatus = lifecyclev1alpha1.Succeeded }),
		"Waiting for the deletion of LifecycleEvent drain-worker-1, requested by ada (firmware), which is being canceled.\n": clitest.DrainOf(
			t, "worker-1", ofAda, func(e *lifecyclev1alpha1.LifecycleEvent) { e.DeletionTimestamp = &metav1.Time{Time: clitest.Noon} }),
	}
}

func TestAnEventThatIsOverIsReplacedAndItIsSaidWhoseItWas(t *testing.T) {
	for want, there := range areOver(t) {
		var notes strings.Builder
		got, err := requester{client: keeping(there), notes: &notes}.ask(t.Context(), clitest.DrainOf(t, "worker-1"))
		if err != nil || !got.isNew {
			t.Errorf("ours: %v, %v", got.isNew, err)
		}
		if diff := cmp.Diff(want, notes.String()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestADryRunSaysThatAnEventWhichIsOverWouldBeReplaced(t *testing.T) {
	var text string
	events := areOver(t)
	for _, key := range slices.Sorted(maps.Keys(events)) {
		there := events[key]
		for _, f := range []cli.Format{cli.Human, cli.Name} {
			tool, out, errOut := clitest.Tool()
			p := pursuitOf(tool, f, cli.DryRunServer)
			p.wanted, p.requester = []*lifecyclev1alpha1.LifecycleEvent{clitest.DrainOf(t, "worker-1")}, requester{client: keeping(there), notes: errOut, dry: true}
			if err := p.begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			text += out.String() + errOut.String()
		}
	}
	clitest.Golden(t, "dry-run/over", text)
}

// refuses is a server that creates no event of this name.
type refuses struct {
	client.WithWatch
	name string
}

func (r refuses) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	if object.GetName() == r.name {
		return clitest.ErrRefused
	}
	object.SetUID(types.UID(object.GetName()))
	return nil
}

// drainsOf asks for drains of four nodes; that of worker-3 is refused.
func drainsOf(t *testing.T, output cli.Format, dry cli.DryRun) (p *pursuit, printed func() string) {
	t.Helper()
	tool, out, errOut := clitest.Tool()
	p = pursuitOf(tool, output, dry)
	p.verb, p.requester = drained, requester{client: refuses{name: "drain-worker-3"}, notes: errOut}
	for _, node := range []string{"worker-1", "worker-2", "worker-3", "worker-4"} {
		p.wanted = append(p.wanted, clitest.DrainOf(t, node))
	}
	return p, func() string { return out.String() + "--- stderr\n" + errOut.String() }
}

func TestWhatWasBegunIsSaidWhereTheRestIsRefused(t *testing.T) {
	for name, output := range map[string]cli.Format{"people": cli.Human, "name": cli.Name, "json": cli.JSON} {
		t.Run(name, func(t *testing.T) {
			p, printed := drainsOf(t, output, cli.DryRunNone)
			if err := p.begin(t.Context()); !errors.Is(err, clitest.ErrRefused) {
				t.Errorf("it ends with %v", err)
			}
			clitest.Golden(t, "partly/not-waited-"+name, printed())
		})
		t.Run(name+"/dry", func(t *testing.T) {
			p, printed := drainsOf(t, output, cli.DryRunServer)
			if err := p.begin(t.Context()); !errors.Is(err, clitest.ErrRefused) {
				t.Errorf("it ends with %v", err)
			}
			clitest.Golden(t, "partly/dry-"+name, printed())
		})
		t.Run(name+"/followed", func(t *testing.T) {
			p, printed := drainsOf(t, output, cli.DryRunNone)
			var followed []progress.Asked
			for _, event := range p.wanted {
				followed = append(followed, progress.Asked{Node: event.Spec.BindingNode, Event: event.Name, Expected: true})
			}
			told := progress.New(followed...)
			told.Begin(clitest.Noon)
			err := p.askAll(t.Context(), func(event *lifecyclev1alpha1.LifecycleEvent) { told.Expect(event, clitest.Noon) })
			ended := clitest.DrainOf(t, "worker-1", func(e *lifecyclev1alpha1.LifecycleEvent) {
				e.UID, e.Status.ClaimStatus = types.UID(e.Name), lifecyclev1alpha1.Succeeded
			})
			told.Gone(ended, clitest.Noon)
			p.stopped(told, err)
			clitest.Golden(t, "partly/followed-"+name, printed())
		})
	}
}

func TestNothingIsSaidToGoOnWhereNothingWasBegun(t *testing.T) {
	p, printed := drainsOf(t, cli.Human, cli.DryRunNone)
	p.requester.client = refuses{name: "drain-worker-1"}
	if err := p.begin(t.Context()); !errors.Is(err, clitest.ErrRefused) {
		t.Errorf("it ends with %v", err)
	}
	if text := printed(); text != "--- stderr\n" {
		t.Errorf("it prints\n%s", text)
	}
}

// pursuitOf is a pursuit on a cluster with these flags.
func pursuitOf(tool *cli.Tool, f cli.Format, dry cli.DryRun) *pursuit {
	return &pursuit{
		Tool: tool, Waiting: &cli.Waiting{DryRun: dry, Output: &cli.Output{Format: f}}, cluster: cli.Cluster{Home: apigroup.In(lifecyclev1alpha1.GroupKubernetes)},
		asked: map[string]asked{}, refused: map[string][]lifecyclev1alpha1.Blocker{},
	}
}

// empty has no objects.
type empty struct{ client.WithWatch }

func (empty) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestADrainWarnsOfTheMaintenanceThatWantsItsNode(t *testing.T) {
	const warning = "NodeMaintenance night will take node worker-1 out of service, and waits while another actor has it."
	for name, tc := range map[string]struct {
		maintenances map[string]string
		want         string
	}{
		"a drain":         {map[string]string{"worker-1": warning}, "Warning: " + warning + "\n"},
		"of another node": {map[string]string{"worker-2": warning}, ""},
	} {
		var notes strings.Builder
		r := requester{client: empty{}, notes: &notes, maintenances: tc.maintenances}
		if err := r.conflicts(t.Context(), []*lifecyclev1alpha1.LifecycleEvent{clitest.DrainOf(t, "worker-1")}); err != nil || notes.String() != tc.want {
			t.Errorf("%s: %v, %q", name, err, notes.String())
		}
	}
}
