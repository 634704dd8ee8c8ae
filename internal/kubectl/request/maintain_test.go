// SPDX-License-Identifier: Apache-2.0

package request

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/yaml"
)

// ten is when it is asked.
var ten = time.Date(2026, 5, 1, 10, 0, 0, 0, time.FixedZone("", 2*60*60))

// usually are the flags' own values.
func usually(change ...func(*Maintain)) Maintain {
	m := Maintain{GracePeriod: -1, BackoffLimit: -1, Rollout: Rollout{MaxPendingPods: -1}}
	for _, f := range change {
		f(&m)
	}
	return m
}

func TestAMaintenanceIsAskedForAsItsFlagsSay(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Maintain)
		want   string
	}{
		"by itself, it is a rollout with what is usual there": {func(*Maintain) {}, `
stage: Drain
rollout: {}
`},
		"a rollout": {func(m *Maintain) {
			m.MaxUnavailable, m.TopologyKey, m.PerDomain, m.Batches = "20%", "topology.kubernetes.io/zone", 2, true
			m.PauseAfter, m.FailureThreshold, m.MaxPendingPods = 5, 3, 0
		}, `
stage: Drain
rollout: {maxUnavailable: 20%, topologyKey: topology.kubernetes.io/zone, perDomain: 2, batches: true, pauseAfter: 5, failureThreshold: 3, maxPendingPods: 0}
`},
		"a number of nodes": {func(m *Maintain) { m.MaxUnavailable = "2" }, `
stage: Drain
rollout: {maxUnavailable: 2}
`},
		"all together, with those of the control plane": {func(m *Maintain) { m.Together, m.AllControlPlaneNodes, m.Stage = true, true, "cordon" }, `
stage: Cordon
allow: [AllControlPlaneNodes]
`},
		"the last node that takes pods, with the others": {func(m *Maintain) { m.Together, m.LastSchedulableNode = true, true }, `
stage: Drain
allow: [LastSchedulableNode]
`},
		"the only node there is": {func(m *Maintain) { m.LastSchedulableNode = true }, `
stage: Drain
rollout: {}
allow: [LastSchedulableNode]
`},
		"all that there are": {func(m *Maintain) { m.Together, m.AllControlPlaneNodes, m.LastSchedulableNode = true, true, true }, `
stage: Drain
allow: [AllControlPlaneNodes, LastSchedulableNode]
`},
		"a Job": {func(m *Maintain) { m.Job, m.WorkTimeout = "reboot", time.Hour }, `
stage: Drain
rollout: {}
work: {type: Job, podTemplate: reboot, timeout: 1h0m0s}
`},
		"a Job that reboots the node twice": {func(m *Maintain) { m.Job, m.BackoffLimit = "firmware", 2 }, `
stage: Drain
rollout: {}
work: {type: Job, podTemplate: firmware, backoffLimit: 2}
`},
		"a Job that may not fail": {func(m *Maintain) { m.Job, m.BackoffLimit = "reboot", 0 }, `
stage: Drain
rollout: {}
work: {type: Job, podTemplate: reboot, backoffLimit: 0}
`},
		"work that people do": {func(m *Maintain) { m.WorkTimeout = time.Hour }, `
stage: Drain
rollout: {}
work: {type: Manual, timeout: 1h0m0s}
`},
		"no work": {func(m *Maintain) { m.Work = "none" }, `
stage: Drain
rollout: {}
work: {type: None}
`},
		"a night": {func(m *Maintain) { m.NotBefore, m.Deadline, m.AtDeadline = "22:00", "05:30", "cancel" }, `
stage: Drain
rollout: {}
window: {notBefore: "2026-05-01T20:00:00Z", deadline: "2026-05-02T03:30:00Z", atDeadline: Cancel}
`},
		"hooks": {func(m *Maintain) {
			m.Hooks = []string{"backup@before-drain:30m:proceed", "smoke-test@before-return:1h", "vendor@after-drain"}
		}, `
stage: Drain
rollout: {}
hooks:
- {name: backup, at: BeforeDrain, timeout: 30m0s, onTimeout: Proceed}
- {name: smoke-test, at: BeforeReturn, timeout: 1h0m0s}
- {name: vendor, at: AfterDrain}
`},
		"how pods leave": {func(m *Maintain) {
			m.GracePeriod, m.PodTimeout, m.DrainTimeout, m.Mode, m.Stage, m.Reason = 30, time.Minute, time.Hour, "Eviction", "Idle", "firmware"
		}, `
stage: Idle
reason: firmware
rollout: {}
drain: {mode: Eviction, gracePeriodSeconds: 30, podTimeout: 1m0s, timeout: 1h0m0s}
`},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := usually(tc.change).Maintenance("night", NodesNamed([]string{"a"}), ten)
			if err != nil {
				t.Fatal(err)
			}
			made.Spec.NodeSelector = corev1.NodeSelector{}
			got, err := yaml.Marshal(made.Spec)
			if err != nil {
				t.Fatal(err)
			}
			var is, want map[string]any
			if err := yaml.Unmarshal(got, &is); err != nil {
				t.Fatal(err)
			}
			if err := yaml.Unmarshal([]byte(tc.want), &want); err != nil {
				t.Fatal(err)
			}
			delete(is, "nodeSelector")
			if diff := cmp.Diff(want, is); diff != "" {
				t.Errorf("spec (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAWrongFlagOfAMaintenanceIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Maintain)
		want   []string
	}{
		"stage":                        {func(m *Maintain) { m.Stage = "gone" }, []string{"--stage", "idle, cordon, drain"}},
		"the last stage":               {func(m *Maintain) { m.Stage = "complete" }, []string{"--stage", "where a maintenance ends"}},
		"a percentage over 100":        {func(m *Maintain) { m.MaxUnavailable = "120%" }, []string{"--max-unavailable", "1% to 100%"}},
		"none at a time":               {func(m *Maintain) { m.MaxUnavailable = "0" }, []string{"--max-unavailable", "1 is the least"}},
		"no number":                    {func(m *Maintain) { m.MaxUnavailable = "some" }, []string{"--max-unavailable", `"some"`, "20%"}},
		"domains of nothing":           {func(m *Maintain) { m.PerDomain = 2 }, []string{"--per-domain", "--topology-key"}},
		"no label":                     {func(m *Maintain) { m.TopologyKey = "a b" }, []string{"--topology-key", `"a b"`}},
		"less than none":               {func(m *Maintain) { m.PauseAfter = -1 }, []string{"--pause-after", "-1"}},
		"a rollout of all together":    {func(m *Maintain) { m.Together, m.Batches = true, true }, []string{"--batches", "--all-together"}},
		"a brake of all together":      {func(m *Maintain) { m.Together, m.MaxPendingPods = true, 3 }, []string{"--max-pending-pods", "--all-together"}},
		"a guard that holds nothing":   {func(m *Maintain) { m.AllControlPlaneNodes = true }, []string{"--allow-all-control-plane-nodes", "--all-together"}},
		"work of all together":         {func(m *Maintain) { m.Together, m.Job = true, "reboot" }, []string{"--job", "--all-together"}},
		"two kinds of work":            {func(m *Maintain) { m.Work, m.Job = "none", "reboot" }, []string{"--job and --work"}},
		"unknown work":                 {func(m *Maintain) { m.Work = "job" }, []string{"--work", `"job"`, "--job PODTEMPLATE"}},
		"a limit of no Job":            {func(m *Maintain) { m.BackoffLimit = 0 }, []string{"--backoff-limit", "--job"}},
		"a limit of work by hand":      {func(m *Maintain) { m.Work, m.BackoffLimit = "manual", 2 }, []string{"--backoff-limit", "--job"}},
		"a time for no work":           {func(m *Maintain) { m.Work, m.WorkTimeout = "none", time.Hour }, []string{"--work-timeout"}},
		"a time below zero":            {func(m *Maintain) { m.WorkTimeout = -time.Hour }, []string{"--work-timeout", "-1h"}},
		"no time":                      {func(m *Maintain) { m.NotBefore = "soon" }, []string{"--not-before", `"soon"`, "22:00"}},
		"a window that ends before":    {func(m *Maintain) { m.NotBefore, m.Deadline = "2026-05-02T00:00:00Z", "2026-05-01T23:00:00Z" }, []string{"--deadline", "--not-before"}},
		"a window that is over":        {func(m *Maintain) { m.Deadline = "2026-04-01T23:00:00Z" }, []string{"--deadline", "has passed"}},
		"an end of no window":          {func(m *Maintain) { m.AtDeadline = "finish" }, []string{"--at-deadline", "--deadline"}},
		"an unknown end":               {func(m *Maintain) { m.Deadline, m.AtDeadline = "+1h", "stop" }, []string{"--at-deadline", `"stop"`}},
		"a hook without a moment":      {func(m *Maintain) { m.Hooks = []string{"backup"} }, []string{"--hook", `"backup"`, "NAME@before-drain"}},
		"a hook at an unknown moment":  {func(m *Maintain) { m.Hooks = []string{"backup@noon"} }, []string{"--hook", `"noon"`}},
		"a hook of a wrong name":       {func(m *Maintain) { m.Hooks = []string{"Back_up@after-drain"} }, []string{"--hook", `"Back_up"`}},
		"a hook that waits for nobody": {func(m *Maintain) { m.Hooks = []string{"b@after-drain:0s"} }, []string{"--hook", `"0s"`}},
		"a hook and what then":         {func(m *Maintain) { m.Hooks = []string{"b@after-drain:1m:explode"} }, []string{"--hook", `"explode"`}},
		"a hook twice":                 {func(m *Maintain) { m.Hooks = []string{"b@after-drain", "b@before-drain"} }, []string{"--hook", "two of the name b"}},
		"no grace":                     {func(m *Maintain) { m.GracePeriod = 0 }, []string{"--grace-period"}},
		"mode":                         {func(m *Maintain) { m.Mode = "force" }, []string{"--eviction-mode", `"force"`}},
		"a drain below zero":           {func(m *Maintain) { m.DrainTimeout = -1 }, []string{"--drain-timeout"}},
		"a pod below zero":             {func(m *Maintain) { m.PodTimeout = -1 }, []string{"--pod-timeout"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := usually(tc.change).Maintenance("night", NodesNamed([]string{"a"}), ten)
			if err == nil {
				t.Fatal("no error")
			}
			for _, text := range tc.want {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%q is not in: %v", text, err)
				}
			}
		})
	}
	if _, err := usually().Maintenance("Night!", NodesNamed([]string{"a"}), ten); err == nil || !strings.Contains(err.Error(), `"Night!"`) {
		t.Errorf("a wrong name: %v", err)
	}
}

func TestNodesAreSelectedAsKubectlSelectsThem(t *testing.T) {
	nodes := map[string]map[string]string{
		"a": {"pool": "web", "zone": "a", "cpu": "8"},
		"b": {"pool": "web", "zone": "b"},
		"c": {"pool": "db", "zone": "a", "cpu": "4"},
		"d": {},
	}
	for text, want := range map[string]string{
		"pool=web": "ab", "pool==web,zone=a": "a", "pool!=web": "cd", "pool in (web, db)": "abc",
		"zone notin (a)": "bd", "cpu": "ac", "!pool": "d", "cpu>4": "a", "cpu<5": "c",
	} {
		selector, err := NodesWithLabels(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := selected(t, selector, nodes); got != want {
			t.Errorf("%s selects %q, want %q", text, got, want)
		}
	}
	if got := selected(t, NodesNamed([]string{"a", "d"}), nodes); got != "ad" {
		t.Errorf("two names select %q", got)
	}
	for _, text := range []string{" ", "=", "a in b"} {
		if _, err := NodesWithLabels(text); err == nil || !strings.Contains(err.Error(), "--selector") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// selected are the names of the nodes that the scheduler's own matching selects.
func selected(t *testing.T, selector corev1.NodeSelector, nodes map[string]map[string]string) string {
	t.Helper()
	matcher, err := nodeaffinity.NewNodeSelector(&selector)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	for _, name := range []string{"a", "b", "c", "d"} {
		if matcher.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: nodes[name]}}) {
			text += name
		}
	}
	return text
}

func TestAMomentIsWhatPeopleMean(t *testing.T) {
	for text, want := range map[string]string{
		"2026-05-01T22:00:00Z":      "2026-05-01T22:00:00Z",
		"2026-05-01T22:00:00-03:00": "2026-05-01T22:00:00-03:00",
		"2026-05-01T22:00":          "2026-05-01T22:00:00+02:00",
		"2026-05-01 22:00":          "2026-05-01T22:00:00+02:00",
		"22:00":                     "2026-05-01T22:00:00+02:00",
		"10:00":                     "2026-05-02T10:00:00+02:00",
		"09:59":                     "2026-05-02T09:59:00+02:00",
		"+90m":                      "2026-05-01T11:30:00+02:00",
	} {
		if got, err := Moment(text, ten); err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s is %s, %v; want %s", text, got.Format(time.RFC3339), err, want)
		}
	}
	for _, text := range []string{"", "tomorrow", "25:00", "+0s", "+-1h", "90m"} {
		if got, err := Moment(text, ten); err == nil {
			t.Errorf("%q is %s", text, got)
		}
	}
}
