// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/driverkit"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

func TestTheGracePeriodOfAnEventComesBeforeTheDriversOwn(t *testing.T) {
	const parameters = `{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters","gracePeriodSeconds":7}`
	for name, tc := range map[string]struct {
		own        int64
		parameters string
		want       *int64
	}{
		"neither: the pods' own":    {-1, "", nil},
		"the driver's":              {30, "", new(int64(30))},
		"the driver's, none at all": {0, "", new(int64(0))},
		"the event's":               {-1, parameters, new(int64(7))},
		"both":                      {30, parameters, new(int64(7))},
	} {
		t.Run(name, func(t *testing.T) {
			p := &plugin{options: Options{Settings: Settings{GracePeriodSeconds: tc.own}}}
			got, err := p.request(driverkit.Call{Node: "n", Parameters: []byte(tc.parameters)})
			if err != nil {
				t.Fatal(err)
			}
			want := drain.Request{NodeName: "n", GracePeriodSeconds: tc.want}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestOptionsAreHeldToTheirForm(t *testing.T) {
	good := Options{Settings: DefaultSettings(), NodeName: "n", Namespace: "own"}
	for name, tc := range map[string]struct {
		change func(*Options)
		want   string
	}{
		"good ones":             {func(*Options) {}, ""},
		"all nodes":             {func(o *Options) { o.NodeName, o.AnyNode = "", true }, ""},
		"no node":               {func(o *Options) { o.NodeName = "" }, "--node-name is required"},
		"no namespace":          {func(o *Options) { o.Namespace = "" }, "--namespace must not be empty"},
		"no time for a drain":   {func(o *Options) { o.SLA = 0 }, "--sla 0s must be greater than 0"},
		"no time for a request": {func(o *Options) { o.EvictionTimeout = -time.Second }, "--eviction-timeout -1s must be greater than 0"},
		"less than no grace":    {func(o *Options) { o.GracePeriodSeconds = -2 }, "--grace-period -2 must be -1 (the pods' own), or 1 or more"},
		"no grace": {func(o *Options) { o.GracePeriodSeconds = 0 }, "--grace-period 0 would need an API server that keeps a pod until its containers have ended: " +
			"with 0, it deletes the pod before, and the drain could not detect an empty node; 1 is the shortest, and -1 means the pods' own"},
		"no driver name": {func(o *Options) { o.DriverName = "A" }, "--driver-name: DriverName: \"A\" must be lower case letters, digits, '-', '_' and '.', with at most one '/' inside"},
		"two at once": {
			func(o *Options) { o.NodeName, o.SLA = "", -1 }, "--node-name is required\n--sla -1ns must be greater than 0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			options, got := good, ""
			tc.change(&options)
			if err := options.Validate(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheTransitionsAreThoseOfTheDesign(t *testing.T) {
	for driver, names := range map[string][2]string{
		"drain.slm.k8s.io":                      {"drain.slm.k8s.io", "drain.slm.k8s.io-uncordon"},
		"example.com/drain":                     {"example.com.drain", "example.com.drain-uncordon"},
		"example.com/server_side_kubectl_drain": {"example.com.server-side-kubectl-drain", "example.com.server-side-kubectl-drain-uncordon"},
	} {
		spec := func(start, end string) lifecyclev1alpha1.LifecycleTransitionSpec {
			return lifecyclev1alpha1.LifecycleTransitionSpec{
				Start: start, End: end, Driver: driver, AllNodes: new(true), SLA: &metav1.Duration{Duration: time.Minute},
			}
		}
		want := []lifecyclev1alpha1.LifecycleTransition{
			{ObjectMeta: metav1.ObjectMeta{Name: names[0]}, Spec: spec("drain-started", "drain-complete")},
			{ObjectMeta: metav1.ObjectMeta{Name: names[1]}, Spec: spec("uncordoning", "maintenance-complete")},
		}
		if diff := cmp.Diff(want, Transitions(driver, time.Minute)); diff != "" {
			t.Errorf("transitions of %s (-want +got):\n%s", driver, diff)
		}
	}
}

func TestAReturnSaysWhetherPodsMayRunThereAgain(t *testing.T) {
	for name, tc := range map[string]struct {
		left *nodestate.Foreign
		want driverkit.Condition
	}{
		"they may": {nil, driverkit.Condition{
			Type: "Schedulable", Status: metav1.ConditionTrue, Reason: "Returned", Message: "node n is schedulable",
		}},
		"somebody else does not want it": {&nodestate.Foreign{By: "kubectl"}, driverkit.Condition{
			Type: "Schedulable", Status: metav1.ConditionFalse, Reason: "CordonedByOthers",
			Message: `node n stays cordoned: it was cordoned by "kubectl", which is not Slipway's to undo (kubectl uncordon n)`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			want := driverkit.Answer{Message: tc.want.Message, EventConditions: []driverkit.Condition{tc.want}, NodeConditions: draining("False", "NodeReturned", "NodeReturned", "")}
			if diff := cmp.Diff(want, returned("n", tc.left)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsThatAreLeftToRespondersAreNamedOnceTheyAreKnown(t *testing.T) {
	pod := drain.PodReference{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "cart-0"}, UID: "u"}
	for name, tt := range map[string]struct {
		named []drain.PodReference
		want  []driverkit.Pod
	}{
		"not known yet": {nil, nil},
		"none":          {[]drain.PodReference{}, []driverkit.Pod{}},
		"one":           {[]drain.PodReference{pod}, []driverkit.Pod{{Namespace: "shop", Name: "cart-0", UID: "u"}}},
	} {
		got := answer(drain.Request{}, "", drain.Status{Named: tt.named}).LeftToResponders
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheEvictionInTheWayIsNamedWithItsKind(t *testing.T) {
	b := drain.Blocker{Pod: types.NamespacedName{Namespace: "shop", Name: "cart-0"}, By: "shop/cart-0-x", Reason: drain.AwaitingResponder}
	if got := blocker("n", b).By; got != "Eviction shop/cart-0-x" {
		t.Errorf("in the way is %q", got)
	}
}

func TestTroubleWithTheAPIServerIsNoFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries int
		var reported []string
		err := persist(t.Context(), func(a driverkit.Answer) { reported = append(reported, a.Message) }, func(context.Context) error {
			if tries++; tries <= 20 {
				return apierrors.NewServiceUnavailable("away")
			}
			return nil
		})
		if err != nil || tries != 21 {
			t.Errorf("after %d tries, got error %v", tries, err)
		}
		if len(reported) != 20 || reported[0] != "away" {
			t.Errorf("it reported %q", reported)
		}
	})
}

func TestANodeThatDoesNotExistIsAFailure(t *testing.T) {
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, "n")
	err := persist(t.Context(), func(driverkit.Answer) {}, func(context.Context) error { return notFound })
	if !apierrors.IsNotFound(err) {
		t.Errorf("got error %v; want that the node is not found", err)
	}
}

func TestPersistingEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		err := persist(ctx, func(driverkit.Answer) {}, func(context.Context) error { return errors.New("no") })
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
			t.Errorf("after %s, got error %v; want that of the context, after a minute", took, err)
		}
	})
}
