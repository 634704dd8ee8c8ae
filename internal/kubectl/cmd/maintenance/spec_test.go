// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"sigs.k8s.io/yaml"
)

// ten is the present time.
var ten = time.Date(2026, 5, 1, 10, 0, 0, 0, time.FixedZone("", 2*60*60))

func TestAMaintenanceHasTheFieldsOfItsFlags(t *testing.T) {
	for args, want := range map[string]string{
		"": `{stage: Drain, rollout: {}}`,
		"--max-unavailable=20% --topology-key=topology.kubernetes.io/zone --per-domain=2 --batches --pause-after=5 --failure-threshold=3 --max-pending-pods=0": `
stage: Drain
rollout: {maxUnavailable: 20%, topologyKey: topology.kubernetes.io/zone, perDomain: 2, batches: true, pauseAfter: 5, failureThreshold: 3, maxPendingPods: 0}`,
		"--max-unavailable=2": `{stage: Drain, rollout: {maxUnavailable: 2}}`,
		"--all-together --allow-all-control-plane-nodes --stage=cordon": `{stage: Cordon, allow: [AllControlPlaneNodes]}`,
		"--all-together --allow-last-schedulable-node":                  `{stage: Drain, allow: [LastSchedulableNode]}`,
		"--include-held":                `{stage: Drain, rollout: {}, heldNodes: TakeOver}`,
		"--allow-last-schedulable-node": `{stage: Drain, rollout: {}, allow: [LastSchedulableNode]}`,
		"--all-together --allow-all-control-plane-nodes --allow-last-schedulable-node": `{stage: Drain, allow: [AllControlPlaneNodes, LastSchedulableNode]}`,
		"--job=reboot --work-timeout=1h":                                               `{stage: Drain, rollout: {}, work: {type: Job, podTemplate: reboot, timeout: 1h0m0s}}`,
		"--job=firmware --backoff-limit=2":                                             `{stage: Drain, rollout: {}, work: {type: Job, podTemplate: firmware, backoffLimit: 2}}`,
		"--job=reboot --backoff-limit=0":                                               `{stage: Drain, rollout: {}, work: {type: Job, podTemplate: reboot, backoffLimit: 0}}`,
		"--work-timeout=1h":                                                            `{stage: Drain, rollout: {}, work: {type: Manual, timeout: 1h0m0s}}`,
		"--work=none":                                                                  `{stage: Drain, rollout: {}, work: {type: None}}`,
		"--not-before=22:00 --deadline=05:30 --at-deadline=cancel":                     `{stage: Drain, rollout: {}, window: {notBefore: "2026-05-01T20:00:00Z", deadline: "2026-05-02T03:30:00Z", atDeadline: Cancel}}`,
		"--hook=backup@before-drain:30m:proceed --hook=test@before-return:1h --hook=v@after-drain": `
stage: Drain
rollout: {}
hooks: [{name: backup, at: BeforeDrain, timeout: 30m0s, onTimeout: Proceed}, {name: test, at: BeforeReturn, timeout: 1h0m0s}, {name: v, at: AfterDrain}]`,
		"--grace-period=30 --pod-timeout=1m --drain-timeout=1h --eviction-mode=Eviction --stage=Idle --reason=firmware": `
stage: Idle
reason: firmware
rollout: {}
drain: {mode: Eviction, gracePeriodSeconds: 30, podTimeout: 1m0s, timeout: 1h0m0s}`,
		"--kill-after=5m":                    `{stage: Drain, rollout: {}, drain: {escalation: {killAfter: 5m0s}}}`,
		"--delete-after=10m --kill-after=5m": `{stage: Drain, rollout: {}, drain: {escalation: {deleteAfter: 10m0s, killAfter: 5m0s}}}`,
	} {
		made, err := parsed(t, "night a "+args).object(ten)
		if err != nil {
			t.Fatal(err)
		}
		made.Spec.NodeSelector = corev1.NodeSelector{}
		got, err := yaml.Marshal(made.Spec)
		if err != nil {
			t.Fatal(err)
		}
		var is, wanted map[string]any
		if err := errors.Join(yaml.Unmarshal(got, &is), yaml.Unmarshal([]byte(want), &wanted)); err != nil {
			t.Fatal(err)
		}
		delete(is, "nodeSelector")
		if diff := cmp.Diff(wanted, is); diff != "" {
			t.Errorf("%s (-want +got):\n%s", args, diff)
		}
	}
}

// parsed returns the flags of a command line of maintain.
func parsed(t *testing.T, args string) *maintainFlags {
	t.Helper()
	m := &maintainFlags{}
	command := &cobra.Command{}
	m.addFlags(command)
	if err := command.ParseFlags(strings.Fields(args)); err != nil {
		t.Fatal(err)
	}
	if err := m.check(command.Flags().Args()); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestAWrongValueOfAFlagOfMaintainIsRefused(t *testing.T) {
	for flag, want := range map[string]string{
		"--stage=gone": "none of: idle, cordon, drain", "--stage=complete": "none of: idle, cordon, drain",
		"--max-unavailable=0": "at least 1", "--max-unavailable=some": "such as 20%", "--pause-after=-1": "--pause-after",
		"--work=job": "none of: manual, none", "--work-timeout=1": "--work-timeout", "--at-deadline=stop": "none of: finish, cancel",
		"--hook=backup": "NAME@before-drain", "--hook=backup@noon": "NAME@before-drain", "--hook=b@after-drain:0s": ":30m", "--hook=b@after-drain:1m:explode": ":proceed",
		"--eviction-mode=force": "none of: auto, evictionrequest, eviction",
	} {
		command := &cobra.Command{}
		(&maintainFlags{}).addFlags(command)
		if err := command.ParseFlags([]string{flag}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
	for args, want := range map[string]string{
		"--work=none --work-timeout=1h": "--work none requests none", "--at-deadline=cancel": "--at-deadline needs --deadline",
		"--not-before=soon": `--not-before: "soon"`, "--deadline=2026-04-01T23:00:00Z": "--deadline",
		"--not-before=2026-05-02T00:00:00Z --deadline=2026-05-01T23:00:00Z": "is not after 2026-05-02T00:00:00Z",
	} {
		if _, err := parsed(t, "night a "+args).object(ten); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
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
		"zone notin (a)": "bd", "cpu": "ac", "!pool": "d",
	} {
		selector, err := selectorOf(nil, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := selected(t, selector, nodes); got != want {
			t.Errorf("%s selects %q, want %q", text, got, want)
		}
	}
	named, err := selectorOf([]string{"a", "d"}, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := selected(t, named, nodes); got != "ad" {
		t.Errorf("two names select %q", got)
	}
	for _, text := range []string{" ", "=", "a in b", "cpu>4"} {
		if _, err := selectorOf(nil, text); err == nil || !strings.Contains(err.Error(), "--selector") {
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
