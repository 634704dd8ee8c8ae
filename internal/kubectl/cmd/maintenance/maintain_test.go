// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
)

// Each field that a NodeMaintenance can be created with has a flag, or the help says how to
// get at it.
func TestEachFieldOfAMaintenanceCanBeAskedFor(t *testing.T) {
	const argument, later = "an argument", "nobody asks for it who creates one"
	by := map[string]string{
		"spec.nodeSelector": argument,
		"spec.stage":        "stage", "spec.reason": "reason", "spec.allow": "allow-all-control-plane-nodes", "spec.heldNodes": "include-held", "spec.hooks": "hook",
		"spec.drain.mode": "eviction-mode", "spec.drain.gracePeriodSeconds": "grace-period",
		"spec.drain.podTimeout": "pod-timeout", "spec.drain.timeout": "drain-timeout",
		"spec.drain.escalation.deleteAfter": "delete-after", "spec.drain.escalation.killAfter": "kill-after",
		"spec.rollout.maxUnavailable": "max-unavailable", "spec.rollout.topologyKey": "topology-key", "spec.rollout.perDomain": "per-domain",
		"spec.rollout.batches": "batches", "spec.rollout.pauseAfter": "pause-after", "spec.rollout.failureThreshold": "failure-threshold",
		"spec.rollout.maxPendingPods": "max-pending-pods",
		"spec.window.notBefore":       "not-before", "spec.window.deadline": "deadline", "spec.window.atDeadline": "at-deadline",
		"spec.work.type": "work", "spec.work.podTemplate": "job", "spec.work.timeout": "work-timeout", "spec.work.backoffLimit": "backoff-limit",
		"spec.requestedBy": later, "spec.paused": later, "spec.retry": later,
	}
	tool, _, _ := clitest.Tool()
	command := newMaintain(tool)
	for _, field := range fieldsOf(reflect.TypeFor[slipwayv1alpha1.NodeMaintenanceSpec](), "spec") {
		flag, known := by[field]
		delete(by, field)
		switch {
		case flag == argument, flag == later:
		case known && command.Flags().Lookup(flag) == nil:
			t.Errorf("%s has no flag --%s", field, flag)
		case !known && !strings.Contains(command.Long, field):
			t.Errorf("%s has no flag, and the help does not say how to get at it", field)
		}
	}
	for field := range by {
		t.Errorf("there is no %s", field)
	}
	if !strings.Contains(command.Long, "kubectl create -f") {
		t.Error("the help does not say how what has no flag is created")
	}
}

// fieldsOf are the paths of the fields, those of structs of this API taken apart.
func fieldsOf(of reflect.Type, path string) (all []string) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		at, kind := path+"."+name, field.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if kind.Kind() == reflect.Struct && kind.PkgPath() == of.PkgPath() {
			all = append(all, fieldsOf(kind, at)...)
			continue
		}
		all = append(all, at)
	}
	return all
}

func TestWhatIsSaidBeforeAMaintenanceIsAskedFor(t *testing.T) {
	nodes := webNodes(t, 12)
	for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{controlPlane: "", "all": ""}}})
	}
	for i, holder := range []string{"slipway", "kubeadmin-ada"} {
		nodes[len(nodes)-1-i].Annotations = clitest.LeasedTo(holder).Annotations
	}
	var others []*slipwayv1alpha1.NodeMaintenance
	for _, name := range []string{"kernel-6.12", "april", "by-hand", "brains"} {
		others = append(others, readMaintenances(t)[name])
	}
	rollout, together := "", "--all-together"
	allowed := together + " --allow-all-control-plane-nodes"
	lastAllowed := allowed + " --allow-last-schedulable-node"
	var text strings.Builder
	for _, tc := range []struct {
		name   string
		flags  string
		choice cli.Nodes
	}{
		{"a pool", rollout, cli.Nodes{Selector: "pool=web"}},
		{"two nodes", rollout, cli.Nodes{Named: []string{"worker-01", "another"}}},
		{"one that nobody else has", rollout, cli.Nodes{Named: []string{"another"}}},
		{"one that is not there", rollout, cli.Nodes{Named: []string{"another", "nosuch"}}},
		{"labels that no node has", rollout, cli.Nodes{Selector: "pool=wep"}},
		{"the whole cluster", rollout, cli.Nodes{Selector: "pool!=db"}},
		{"the whole cluster together", allowed, cli.Nodes{Selector: "pool!=db"}},
		{"the whole cluster together, to the last one", lastAllowed, cli.Nodes{Selector: "pool!=db"}},
		{"the control plane, one at a time", rollout, cli.Nodes{Selector: controlPlane}},
		{"the control plane together", together, cli.Nodes{Selector: controlPlane}},
		{"the control plane together, as is wanted", allowed, cli.Nodes{Selector: controlPlane}},
		{"two of the control plane", together, cli.Nodes{Named: []string{"cp-1", "cp-2"}}},
	} {
		m := parsed(t, "new n "+tc.flags)
		m.nodes = tc.choice
		wanted, err := m.object(clitest.Noon)
		if err != nil {
			t.Fatal(err)
		}
		found := lookAt(wanted, tc.choice, nodes, others)
		fmt.Fprintf(&text, "--- %s\n", tc.name)
		for _, note := range found.notes {
			fmt.Fprintln(&text, note)
		}
		if found.wrong != nil {
			fmt.Fprintln(&text, "error:", found.wrong)
		}
	}
	clitest.Golden(t, "maintain/looks", text.String())
}

func TestAWrongCommandLineOfMaintainIsRefused(t *testing.T) {
	for name, args := range map[string][]string{
		"maintain-nothing":          {"maintain"},
		"maintain-no-nodes":         {"maintain", "night"},
		"maintain-both":             {"maintain", "night", "worker-1", "-l", "a=b"},
		"maintain-a-pod":            {"maintain", "pod/night", "worker-1"},
		"maintain-a-percentage":     {"maintain", "night", "worker-1", "--max-unavailable", "none"},
		"maintain-a-window":         {"maintain", "night", "worker-1", "--not-before", "2099-01-02T00:00:00Z", "--deadline", "2099-01-01T00:00:00Z"},
		"maintain-two-jobs":         {"maintain", "night", "worker-1", "--job", "a", "--work", "none"},
		"maintain-a-hook":           {"maintain", "night", "worker-1", "--hook", "backup@dawn"},
		"maintain-together":         {"maintain", "night", "worker-1", "--all-together", "--max-unavailable", "2"},
		"maintain-yaml":             {"maintain", "night", "worker-1", "-o", "yaml"},
		"maintain-timeout":          {"maintain", "night", "worker-1", "--timeout", "-1s"},
		"maintenance-unknown":       {"maintenance", "stop"},
		"maintenance-pause-nothing": {"maintenance", "pause"},
		"maintenance-a-node":        {"maintenance", "status", "node/worker-1"},
		"maintenance-stage-unknown": {"maintenance", "stage", "night", "reboot"},
		"maintenance-watch-yaml":    {"maintenance", "status", "-w", "-o", "yaml"},
		"maintenance-resume-minus":  {"maintenance", "resume", "night", "--pause-after", "-3"},
		"maintenance-open-two":      {"maintenance", "open", "night", "worker-1"},
		"done-nothing":              {"done"},
		"done-a-pod":                {"done", "pod/worker-1"},
		"maintain-empty-selector":   {"maintain", "night", "-l", " "},
		"maintain-dry-run-of-what":  {"maintain", "night", "worker-1", "--dry-run=perhaps"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := execute(t, args...)
			if code != cli.WrongUsage || out != "" {
				t.Errorf("exit code %d, want %d; stdout %q", code, cli.WrongUsage, out)
			}
			clitest.Golden(t, "usage/"+name, errOut)
		})
	}
}

func TestHelpOfMaintenancesSaysWhatIsNeeded(t *testing.T) {
	for _, command := range []string{
		"maintain", "maintenance", "maintenance status", "maintenance pause", "maintenance resume", "maintenance retry", "maintenance stage",
		"maintenance abort", "maintenance open", "maintenance hold", "done",
	} {
		out, errOut, code := execute(t, append(strings.Fields(command), "--help")...)
		if code != cli.Done || errOut != "" {
			t.Errorf("exit code %d; stderr %q", code, errOut)
		}
		clitest.Golden(t, "help/"+strings.ReplaceAll(command, " ", "-"), out)
	}
}

func TestThePlanOfAMaintenanceIsAskedForByItsFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--plan --dry-run=client": "[dry-run plan]",
		"--plan -o name":          "-o name does not go with --plan",
		"-o wide":                 "-o wide goes with --plan",
	} {
		_, errOut, code := execute(t, append([]string{"maintain", "night", "worker-1"}, strings.Fields(args)...)...)
		if code != cli.WrongUsage || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d, error %s; want %q", args, code, errOut, want)
		}
	}
	parsed(t, "night worker-1 --plan --max-unavailable=2 -o wide")
	parsed(t, "night worker-1 --plan -o yaml")
}
