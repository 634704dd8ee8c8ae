// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// asked is a maintenance with the given spec, which is YAML. It selects nodes unless that
// says which.
func asked(t *testing.T, spec string) *unstructured.Unstructured {
	t.Helper()
	if !strings.Contains(spec, "nodeSelector") {
		spec = strings.Replace(spec, "{", "{nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: no-such-label, operator: Exists}]}]}, ", 1)
	}
	var content map[string]any
	if err := yaml.UnmarshalStrict([]byte(spec), &content); err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	o.SetGroupVersionKind(slipwayv1alpha1.GroupVersion.WithKind("NodeMaintenance"))
	o.SetGenerateName("bad-input-")
	return o
}

// TestTheAPIServerRefusesBadMaintenances: each refusal names the field.
func TestTheAPIServerRefusesBadMaintenances(t *testing.T) {
	env := harness.Shared(t)
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"a stage that there is not": {
			`{stage: Reboot}`, []string{`spec.stage: Unsupported value: "Reboot"`, `"Idle", "Cordon", "Drain", "Complete"`},
		},
		"no node at a time":         {`{rollout: {maxUnavailable: 0}}`, []string{"spec.rollout.maxUnavailable must be at least 1"}},
		"more than all nodes":       {`{rollout: {maxUnavailable: 101%}}`, []string{"spec.rollout.maxUnavailable", "a percentage from 1% to 100%"}},
		"a percentage of zero":      {`{rollout: {maxUnavailable: 0%}}`, []string{"spec.rollout.maxUnavailable", "a percentage from 1% to 100%"}},
		"a number that is a text":   {`{rollout: {maxUnavailable: two}}`, []string{"spec.rollout.maxUnavailable", "a percentage from 1% to 100%"}},
		"domains without a label":   {`{rollout: {perDomain: 1}}`, []string{"spec.rollout.perDomain", "needs topologyKey"}},
		"no node of each domain":    {`{rollout: {perDomain: 0, topologyKey: zone}}`, []string{"spec.rollout.perDomain", "greater than or equal to 1"}},
		"a pause before it begins":  {`{rollout: {pauseAfter: 0}}`, []string{"spec.rollout.pauseAfter", "greater than or equal to 1"}},
		"no failure that is enough": {`{rollout: {failureThreshold: 0}}`, []string{"spec.rollout.failureThreshold", "greater than or equal to 1"}},
		"fewer pods than none":      {`{rollout: {maxPendingPods: -1}}`, []string{"spec.rollout.maxPendingPods", "greater than or equal to 0"}},
		"a window that ends before it starts": {
			`{window: {notBefore: "2026-01-02T03:00:00Z", deadline: "2026-01-02T02:00:00Z"}}`,
			[]string{"spec.window.deadline", "must be after notBefore"},
		},
		"a window that ends before it starts, in another time zone": {
			`{window: {notBefore: "2026-01-02T03:00:00Z", deadline: "2026-01-02T03:30:00+01:00"}}`,
			[]string{"spec.window.deadline", "must be after notBefore"},
		},
		"a window that is no time": {`{window: {deadline: tonight}}`, []string{"spec.window.deadline", "date-time"}},
		"an end of the window":     {`{window: {atDeadline: Kill}}`, []string{`spec.window.atDeadline: Unsupported value: "Kill"`, `"Finish", "Cancel"`}},
		"a Job of nothing":         {`{rollout: {}, work: {type: Job}}`, []string{"spec.work.podTemplate", "is required with type Job"}},
		"a Job that nobody runs":   {`{rollout: {}, work: {type: Manual, podTemplate: reboot}}`, []string{"spec.work.podTemplate", "not allowed otherwise"}},
		"work of a kind that there is not": {
			`{rollout: {}, work: {type: Reboot}}`, []string{`spec.work.type: Unsupported value: "Reboot"`},
		},
		"work without a rollout": {`{work: {type: Manual}}`, []string{"spec.work needs spec.rollout"}},
		"tries of nothing":       {`{rollout: {}, work: {type: None, backoffLimit: 1}}`, []string{"spec.work.backoffLimit", "is for type Job"}},
		"a hook at no moment":    {`{hooks: [{name: a}]}`, []string{"spec.hooks[0].at: Required value"}},
		"a hook at a moment that there is not": {
			`{hooks: [{name: a, at: Never}]}`, []string{`spec.hooks[0].at: Unsupported value: "Never"`, `"BeforeDrain", "AfterDrain", "BeforeReturn"`},
		},
		"a hook with a name that is none": {`{hooks: [{name: A_b, at: BeforeDrain}]}`, []string{"spec.hooks[0].name", "should match"}},
		"two hooks of the same name": {
			`{hooks: [{name: a, at: BeforeDrain}, {name: a, at: AfterDrain}]}`, []string{"spec.hooks[1]: Duplicate value"},
		},
		"a plan without priorities": {`{drainPlan: [{podType: Default}]}`, []string{"spec.drainPlan", "each entry needs a podPriority"}},
		"a plan without priorities, of static pods": {
			`{drainPlan: [{podType: Static}]}`, []string{"spec.drainPlan", "each entry needs a podPriority"},
		},
		"a plan of pods that there are not": {
			`{drainPlan: [{podType: All, podPriority: 1}]}`, []string{`podType: Unsupported value: "All"`},
		},
		"a drain of no time":    {`{drain: {timeout: 0s}}`, []string{"spec.drain.timeout must be greater than 0"}},
		"a kill before its pod": {`{drain: {escalation: {killAfter: -1s}}}`, []string{"spec.drain.escalation.killAfter must not be negative"}},
		"no time to end":        {`{drain: {gracePeriodSeconds: 0}}`, []string{"spec.drain.gracePeriodSeconds", "greater than or equal to 1"}},
		"a guard that is none":  {`{allow: [Everything]}`, []string{`spec.allow[0]: Unsupported value: "Everything"`}},
		"fewer tries than none": {`{retry: -1}`, []string{"spec.retry", "greater than or equal to 0"}},
		"a hook with a timeout that is none": {
			`{hooks: [{name: a, at: BeforeDrain, timeout: 0s}]}`, []string{"spec.hooks", "timeout", "greater than 0"},
		},
		"work with a timeout that is none": {
			`{rollout: {}, work: {type: Manual, timeout: -5m}}`, []string{"spec.work.timeout", "greater than 0"},
		},
		"a timeout of days, which Go programs cannot read": {
			`{rollout: {}, work: {type: Manual, timeout: 1d}}`, []string{`spec.work.timeout: Invalid value: "1d"`, "should match"},
		},
		"a timeout of a pod that is a word":    {`{drain: {podTimeout: soon}}`, []string{"spec.drain.podTimeout", "should match"}},
		"a timeout of a volume without a unit": {`{drain: {volumeTimeout: "5"}}`, []string{"spec.drain.volumeTimeout", "should match"}},
		"a timeout of a hook that is a word":   {`{hooks: [{name: a, at: BeforeDrain, timeout: soon}]}`, []string{"spec.hooks[0].timeout", "should match"}},
		"a timeout of a drain that is a word":  {`{drain: {timeout: soon}}`, []string{"spec.drain.timeout", "should match"}},
	} {
		t.Run(name, func(t *testing.T) {
			harness.Refused(t, env.Client.Create(t.Context(), asked(t, tc.spec), client.DryRunAll), tc.want...)
		})
	}
}

// TestTheAPIServerRefusesBadChanges: what has been said cannot be taken back.
func TestTheAPIServerRefusesBadChanges(t *testing.T) {
	env := harness.Shared(t)
	for name, tc := range map[string]struct {
		from, to string
		want     []string
	}{
		"a stage back":        {`{stage: Complete}`, `{stage: Drain}`, []string{"spec.stage", "and never back"}},
		"a stage not so far":  {`{stage: Cordon}`, `{stage: Idle}`, []string{"spec.stage", "and never back"}},
		"another plan":        {`{drainPlan: [{podType: Default, podPriority: 1}]}`, `{drainPlan: [{podType: Default, podPriority: 2}]}`, []string{"spec.drainPlan is immutable"}},
		"no plan any more":    {`{drainPlan: [{podType: Default, podPriority: 1}]}`, `{}`, []string{"spec.drainPlan is immutable"}},
		"a plan after all":    {`{}`, `{drainPlan: [{podType: Default, podPriority: 1}]}`, []string{"spec.drainPlan is immutable"}},
		"a rollout after all": {`{}`, `{rollout: {}}`, []string{"spec.rollout", "can be changed, not added or removed"}},
		"no rollout any more": {`{rollout: {}}`, `{}`, []string{"spec.rollout", "can be changed, not added or removed"}},
		"fewer tries":         {`{retry: 2}`, `{retry: 1}`, []string{"spec.retry can be raised, not lowered"}},
		"a guard after all":   {`{allow: [AllControlPlaneNodes]}`, `{allow: []}`, []string{"spec.allow", "can be added to, not taken from"}},
		"no guard any more":   {`{allow: [LastSchedulableNode]}`, `{}`, []string{"spec.allow", "can be added to, not taken from"}},
		"another guard":       {`{allow: [LastSchedulableNode]}`, `{allow: [AllControlPlaneNodes]}`, []string{"spec.allow", "can be added to, not taken from"}},
		"somebody else":       {`{}`, `{requestedBy: somebody}`, []string{"spec.requestedBy"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := asked(t, tc.from)
			if err := env.Client.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				o.SetFinalizers(nil)
				env.DeleteQuietly(o)
			})
			changed := asked(t, tc.to)
			changed.SetName(o.GetName())
			changed.SetGenerateName("")
			changed.SetResourceVersion(o.GetResourceVersion())
			if by, set, _ := unstructured.NestedString(o.Object, "spec", "requestedBy"); set && !strings.Contains(tc.to, "requestedBy") {
				_ = unstructured.SetNestedField(changed.Object, by, "spec", "requestedBy")
			}
			harness.Refused(t, env.Client.Update(t.Context(), changed, client.DryRunAll), tc.want...)
		})
	}
}
