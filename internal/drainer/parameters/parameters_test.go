// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
)

const parametersHead = `{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters"`

// asked is what the given parameters ask for.
func asked(raw string) (drain.Request, error) {
	return Parse([]byte(raw))
}

func TestParametersSayWhatIsAskedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		raw  string
		want drain.Request
	}{
		"none":             {"", drain.Request{}},
		"empty ones":       {parametersHead + `}`, drain.Request{}},
		"a grace period":   {parametersHead + `,"gracePeriodSeconds":30}`, drain.Request{GracePeriodSeconds: new(int64(30))}},
		"what is null":     {parametersHead + `,"podTimeout":null,"escalation":null,"targets":null}`, drain.Request{}},
		"a mode":           {parametersHead + `,"mode":"EvictionRequest"}`, drain.Request{Mode: drain.ModeEvictionRequest}},
		"another mode":     {parametersHead + `,"mode":"Eviction"}`, drain.Request{Mode: drain.ModeEviction}},
		"the mode of most": {parametersHead + `,"mode":"Auto"}`, drain.Request{Mode: drain.ModeAuto}},
		"no targets":       {parametersHead + `,"targets":[]}`, drain.Request{}},
		"to evict all":     {parametersHead + `,"unmanagedPods":"Evict","localStorage":"Evict"}`, drain.Request{}},
		"no waiting":       {parametersHead + `,"volumeTimeout":"0s","podTimeout":"0"}`, drain.Request{VolumeTimeout: new(time.Duration(0))}},
		"empty escalation": {parametersHead + `,"escalation":{}}`, drain.Request{}},
		"everything": {
			parametersHead + `,"gracePeriodSeconds":30,"podTimeout":"90s","hold":true,"unmanagedPods":"Refuse","localStorage":"Refuse",
				"escalation":{"deleteAfter":"1h30m","killAfter":"10m"},"volumeTimeout":"5m","targets":[
				{"podType":"Default"},
				{"podType":"Default","podPriority":-5,"podSelector":{}},
				{"podType":"DaemonSet","podPriority":1000,"podSelector":{"matchLabels":{"app":"log"},"matchExpressions":[{"key":"k","operator":"Exists"}]}},
				{"podType":"Static"}]}`,
			drain.Request{
				GracePeriodSeconds: new(int64(30)), PodTimeout: 90 * time.Second, Hold: true,
				RefuseUnmanaged: true, RefuseLocalStorage: true,
				Escalation:    drain.Escalation{DeleteAfter: 90 * time.Minute, KillAfter: 10 * time.Minute},
				VolumeTimeout: new(5 * time.Minute),
				Targets: []drain.Target{
					{PodType: drain.PodTypeDefault},
					{PodType: drain.PodTypeDefault, PodPriority: new(int32(-5)), Selector: labels.Everything()},
					{PodType: drain.PodTypeDaemonSet, PodPriority: new(int32(1000)), Selector: selector("app=log,k")},
					{PodType: drain.PodTypeStatic},
				},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := asked(tc.raw)
			if err != nil {
				t.Fatal(err)
			}
			same := cmp.Comparer(func(a, b labels.Selector) bool { return a.String() == b.String() })
			if diff := cmp.Diff(tc.want, got, cmp.FilterValues(bothSet, same)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func bothSet(a, b labels.Selector) bool { return a != nil && b != nil }

func selector(text string) labels.Selector {
	s, err := labels.Parse(text)
	if err != nil {
		panic(err)
	}
	return s
}

func TestBadParametersAreRefusedByTheNameOfTheField(t *testing.T) {
	for name, tc := range map[string]struct{ fields, want string }{ // without "spec.parameters"
		"an unknown field":               {`"force":true`, `: unknown field "force"`},
		"an unknown field of a target":   {`"targets":[{"podType":"Default","priority":1}]`, `: unknown field "targets[0].priority"`},
		"a field twice":                  {`"gracePeriodSeconds":1,"gracePeriodSeconds":2`, `: duplicate field "gracePeriodSeconds"`},
		"a negative grace period":        {`"gracePeriodSeconds":-1`, ".gracePeriodSeconds: -1 must be 1 or more"},
		"no grace at all":                {`"gracePeriodSeconds":0`, ".gracePeriodSeconds: 0 must be 1 or more"},
		"a number for a duration":        {`"podTimeout":90`, `.podTimeout: 90 is not a duration; want a text such as "90s" or "1h30m"`},
		"a duration without a unit":      {`"podTimeout":"90"`, `.podTimeout: "90" is not a duration; want one such as "90s" or "1h30m"`},
		"a negative pod timeout":         {`"podTimeout":"-90s"`, ".podTimeout: -90s must not be negative"},
		"a negative volume timeout":      {`"volumeTimeout":"-1h"`, ".volumeTimeout: -1h must not be negative"},
		"a negative time until deletion": {`"escalation":{"deleteAfter":"-1s"}`, ".escalation.deleteAfter: -1s must not be negative"},
		"a time to kill that is none":    {`"escalation":{"killAfter":"now"}`, `.escalation.killAfter: "now" is not a duration; want one such as "90s" or "1h30m"`},
		"an escalation that is none":     {`"escalation":"yes"`, `: json: cannot unmarshal string into Go struct field DrainParameters.escalation of type v1alpha1.DrainEscalation`},
		"a hold that is none":            {`"hold":"yes"`, `: json: cannot unmarshal string into Go struct field DrainParameters.hold of type bool`},
		"an unknown mode":                {`"mode":"auto"`, `.mode: "auto" must be Auto, EvictionRequest or Eviction`},
		"an unknown policy":              {`"unmanagedPods":"Delete"`, `.unmanagedPods: "Delete" must be Evict or Refuse`},
		"another unknown policy":         {`"localStorage":"refuse"`, `.localStorage: "refuse" must be Evict or Refuse`},
		"a target of no type":            {`"targets":[{"podPriority":1}]`, ".targets[0].podType: is missing; it must be Default, DaemonSet or Static"},
		"a target of an unknown type":    {`"targets":[{"podType":"Default"},{"podType":"Job"}]`, `.targets[1].podType: "Job" must be Default, DaemonSet or Static`},
		"a priority that is too high": {
			`"targets":[{"podType":"Default","podPriority":3000000000}]`,
			": json: cannot unmarshal number 3000000000 into Go struct field DrainTarget.targets.podPriority of type int32",
		},
		"a selector with an unknown operator": {
			`"targets":[{"podType":"Default","podSelector":{"matchExpressions":[{"key":"k","operator":"Around"}]}}]`,
			`.targets[0].podSelector.matchExpressions[0].operator: Invalid value: "Around": not a valid selector operator`,
		},
		"a selector with no values": {
			`"targets":[{"podType":"Default","podSelector":{"matchExpressions":[{"key":"k","operator":"In"}]}}]`,
			".targets[0].podSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
		},
		"a selector with a bad key": {
			`"targets":[{"podType":"Default","podSelector":{"matchLabels":{"a b":"c"}}}]`,
			`.targets[0].podSelector.matchLabels: Invalid value: "a b": name part must consist of alphanumeric characters`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := asked(parametersHead + "," + tc.fields + "}")
			if err == nil || !strings.HasPrefix(err.Error(), "spec.parameters"+tc.want) {
				t.Errorf("got error\n%v; want\nspec.parameters%s", err, tc.want)
			}
		})
	}
}

func TestParametersMustSayWhatTheyAre(t *testing.T) {
	for name, tc := range map[string]struct{ raw, want string }{
		"no kind": {`{}`, `spec.parameters: apiVersion "" and kind ""; want "slipway.dev/v1alpha1" and "DrainParameters"`},
		"another kind": {
			`{"apiVersion":"v1","kind":"Pod"}`,
			`spec.parameters: apiVersion "v1" and kind "Pod"; want "slipway.dev/v1alpha1" and "DrainParameters"`,
		},
		"no object": {`7`, `spec.parameters: json: cannot unmarshal number into Go value of type v1alpha1.DrainParameters`},
		"no JSON":   {`{`, `spec.parameters: unexpected end of JSON input`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := asked(tc.raw); err == nil || err.Error() != tc.want {
				t.Errorf("got error %v; want %q", err, tc.want)
			}
		})
	}
}

// Whatever somebody writes there, it is said where it is wrong, or asks for what a
// drain can do.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "7", "{}", "null", "[]", parametersHead + "}",
		parametersHead + `,"gracePeriodSeconds":30,"podTimeout":"90s","hold":true}`,
		parametersHead + `,"escalation":{"deleteAfter":"1h","killAfter":"-1s"},"volumeTimeout":"9999999999h"}`,
		parametersHead + `,"targets":[{"podType":"Static","podPriority":1,"podSelector":{"matchLabels":{"a":"b"}}}]}`,
		parametersHead + `,"targets":[{"podType":"Default","podSelector":{"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]}}]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		request, err := Parse(raw)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "spec.parameters") {
				t.Errorf("%q: the error names no field: %v", raw, err)
			}
			return
		}
		for _, d := range []time.Duration{request.PodTimeout, request.Escalation.DeleteAfter, request.Escalation.KillAfter} {
			if d < 0 {
				t.Errorf("%q: asks for a negative time: %+v", raw, request)
			}
		}
		survives(t, raw, request)
	})
}

// survives wants that parameters that are understood ask for the same when they are written
// anew, as whoever changes a field of them does.
func survives(t *testing.T, raw []byte, request drain.Request) {
	t.Helper()
	if len(raw) == 0 {
		return
	}
	parameters, err := parse(raw)
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(parameters)
	if err != nil {
		t.Fatalf("%q cannot be written: %v", raw, err)
	}
	again, err := Parse(written)
	if err != nil {
		t.Fatalf("%q is understood, and %q is not: %v", raw, written, err)
	}
	same := cmp.Comparer(func(a, b labels.Selector) bool {
		return (a == nil) == (b == nil) && (a == nil || a.String() == b.String())
	})
	if diff := cmp.Diff(request, again, same); diff != "" {
		t.Errorf("%q asks for something else as %q (-before +after):\n%s", raw, written, diff)
	}
}

func TestTheSampleIsUnderstood(t *testing.T) {
	text, err := os.ReadFile("../../../config/samples/drain-worker-1-with-parameters.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var event lifecyclev1alpha1.LifecycleEvent
	if err := yaml.UnmarshalStrict(text, &event); err != nil {
		t.Fatal(err)
	}
	if _, err := asked(string(event.Spec.Parameters.Raw)); err != nil {
		t.Error(err)
	}
}
