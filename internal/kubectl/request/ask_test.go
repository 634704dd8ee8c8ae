// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/slipwayclient"
)

// usual are the flags' own values.
func usual(change ...func(*Drain)) Drain {
	d := Drain{GracePeriod: -1}
	for _, f := range change {
		f(&d)
	}
	return d
}

func specOf(t *testing.T, event *lifecyclev1alpha1.LifecycleEvent) string {
	t.Helper()
	text, err := yaml.Marshal(event.Spec)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestADrainIsAskedForAsKubectlMeansItsFlags(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Drain)
		want   string
	}{
		"by itself, what kubectl refuses is refused, and there is a day": {
			func(*Drain) {}, `
bindingNode: worker-1
parameters: {apiVersion: slipway.dev/v1alpha1, kind: DrainParameters, localStorage: Refuse, unmanagedPods: Refuse}
sla: 24h0m0s
transitionName: drain.slm.k8s.io
`,
		},
		"--force and --delete-emptydir-data": {
			func(d *Drain) { d.Force, d.DeleteEmptyDirData = true, true }, `
bindingNode: worker-1
parameters: {apiVersion: slipway.dev/v1alpha1, kind: DrainParameters}
sla: 24h0m0s
transitionName: drain.slm.k8s.io
`,
		},
		"--eviction-mode": {
			func(d *Drain) { d.Mode, d.Force, d.DeleteEmptyDirData = "EvictionRequest", true, true }, `
bindingNode: worker-1
parameters: {apiVersion: slipway.dev/v1alpha1, kind: DrainParameters, mode: EvictionRequest}
sla: 24h0m0s
transitionName: drain.slm.k8s.io
`,
		},
		"--grace-period and --timeout, which is the deadline as well": {
			func(d *Drain) { d.GracePeriod, d.Timeout = 900, 10*time.Minute }, `
bindingNode: worker-1
parameters: {apiVersion: slipway.dev/v1alpha1, gracePeriodSeconds: 900, kind: DrainParameters, localStorage: Refuse, unmanagedPods: Refuse}
sla: 10m0s
transitionName: drain.slm.k8s.io
`,
		},
		"--sla has the last word on the deadline": {
			func(d *Drain) { d.Timeout, d.SLA, d.Force, d.DeleteEmptyDirData = time.Minute, time.Hour, true, true }, `
bindingNode: worker-1
parameters: {apiVersion: slipway.dev/v1alpha1, kind: DrainParameters}
sla: 1h0m0s
transitionName: drain.slm.k8s.io
`,
		},
		"--disable-eviction deletes as soon as a budget refuses": {
			func(d *Drain) { d.DisableEviction, d.Force, d.DeleteEmptyDirData = true, true, true }, `
bindingNode: worker-1
parameters: {apiVersion: slipway.dev/v1alpha1, escalation: {deleteAfter: 1ms}, kind: DrainParameters}
sla: 24h0m0s
transitionName: drain.slm.k8s.io
`,
		},
		"--delete-after and --kill-after": {
			func(d *Drain) {
				d.DeleteAfter, d.KillAfter, d.Force, d.DeleteEmptyDirData = 10*time.Minute, 5*time.Minute, true, true
			}, `
bindingNode: worker-1
parameters: {apiVersion: slipway.dev/v1alpha1, escalation: {deleteAfter: 10m0s, killAfter: 5m0s}, kind: DrainParameters}
sla: 24h0m0s
transitionName: drain.slm.k8s.io
`,
		},
		"--until": {
			func(d *Drain) {
				d.Until, d.Force, d.DeleteEmptyDirData = &metav1.Time{Time: time.Date(2026, 5, 1, 17, 0, 0, 0, time.UTC)}, true, true
			}, `
bindingNode: worker-1
parameters: {apiVersion: slipway.dev/v1alpha1, kind: DrainParameters}
sla: 24h0m0s
transitionName: drain.slm.k8s.io
until: "2026-05-01T17:00:00Z"
`,
		},
		"--pod-selector, --reason and --allow": {
			func(d *Drain) {
				d.PodSelector, d.Reason, d.Allow = "app in (b,a),tier!=db,!x", "firmware", []string{"LastSchedulableNode"}
				d.Force, d.DeleteEmptyDirData = true, true
			}, `
allow: [LastSchedulableNode]
bindingNode: worker-1
parameters:
  apiVersion: slipway.dev/v1alpha1
  kind: DrainParameters
  targets:
  - podType: Default
    podSelector:
      matchExpressions:
      - {key: app, operator: In, values: [a, b]}
      - {key: tier, operator: NotIn, values: [db]}
      - {key: x, operator: DoesNotExist}
reason: firmware
sla: 24h0m0s
transitionName: drain.slm.k8s.io
`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			event, err := usual(tc.change).Event("worker-1")
			if err != nil {
				t.Fatal(err)
			}
			if event.Name != "drain-worker-1" {
				t.Errorf("the event is called %s", event.Name)
			}
			var got, want any
			for text, into := range map[string]*any{specOf(t, event): &got, tc.want: &want} {
				if err := yaml.Unmarshal([]byte(text), into); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatCannotBeAskedForIsRefusedWithTheFlagAndTheReason(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Drain)
		want   []string
	}{
		"no grace period":           {func(d *Drain) { d.GracePeriod = 0 }, []string{"--grace-period", "before its containers have ended", "1 is the shortest"}},
		"no selector":               {func(d *Drain) { d.PodSelector = "a=b=c" }, []string{"--pod-selector"}},
		"a selector with numbers":   {func(d *Drain) { d.PodSelector = "size>3" }, []string{"--pod-selector", "do not compare numbers"}},
		"a guard that is not there": {func(d *Drain) { d.Allow = []string{"All"} }, []string{"--allow", `"All"`, "LastSchedulableNode"}},
		"a negative deadline":       {func(d *Drain) { d.SLA = -time.Second }, []string{"--sla"}},
		"a negative timeout":        {func(d *Drain) { d.Timeout = -time.Second }, []string{"--timeout", "0 means without limit"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := usual(tc.change).Event("worker-1")
			if err == nil {
				t.Fatal("it was not refused")
			}
			for _, text := range tc.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in: %v", text, err)
				}
			}
		})
	}
}

func TestOnlyWhatMakesADrainDoOtherwiseIsADifference(t *testing.T) {
	for name, tc := range map[string]struct {
		there, wanted func(*Drain)
		want          []string
	}{
		"the same":                         {func(*Drain) {}, func(*Drain) {}, nil},
		"another reason":                   {func(d *Drain) { d.Reason = "firmware" }, func(*Drain) {}, nil},
		"a guard that is allowed besides":  {func(d *Drain) { d.Allow = []string{"LastSchedulableNode"} }, func(*Drain) {}, nil},
		"a guard that is not allowed":      {func(*Drain) {}, func(d *Drain) { d.Allow = []string{"LastSchedulableNode"} }, []string{"spec.allow does not list LastSchedulableNode there"}},
		"another deadline, and less force": {func(d *Drain) { d.SLA, d.Force = time.Hour, true }, func(*Drain) {}, []string{"spec.parameters.unmanagedPods is not set there, and Refuse here", "spec.sla is 1h0m0s there, and 24h0m0s here"}},
	} {
		t.Run(name, func(t *testing.T) {
			there, err := usual(tc.there).Event("worker-1")
			if err != nil {
				t.Fatal(err)
			}
			// As the server gives it back.
			there.Spec.RequestedBy, there.Spec.Gates = "ada", []lifecyclev1alpha1.Gate{{Name: lifecyclev1alpha1.GateGuards}}
			wanted, err := usual(tc.wanted).Event("worker-1")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, slipwayclient.Differences(there, wanted)); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAReturnNamesItsActorAndReleasesAllHoldsOnRequest(t *testing.T) {
	for want, event := range map[string]*lifecyclev1alpha1.LifecycleEvent{
		"bindingNode: worker-1\nreason: done\ntransitionName: drain.slm.k8s.io-uncordon\n":                             Return("worker-1", By{Reason: "done"}, false),
		"actor: blue\nbindingNode: worker-1\nparameters:\n  release: All\ntransitionName: drain.slm.k8s.io-uncordon\n": Return("worker-1", By{Actor: "blue"}, true),
	} {
		if got := specOf(t, event); got != want || event.Name != "uncordon-worker-1" {
			t.Errorf("%s is\n%s", event.Name, got)
		}
	}
}
