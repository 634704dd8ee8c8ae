// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/request"
)

func TestWhatIsSaidBeforeAMaintenanceIsAskedFor(t *testing.T) {
	nodes := webNodes(t, 12)
	for _, name := range []string{"cp-1", "cp-2", "cp-3"} {
		nodes = append(nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{controlPlane: "", "all": ""}}})
	}
	for i, holder := range []string{"slipway", "kubeadmin-ada"} {
		nodes[len(nodes)-1-i].Annotations = leasedTo(holder).Annotations
	}
	var others []*slipwayv1alpha1.NodeMaintenance
	for _, name := range []string{"kernel-6.12", "april", "by-hand", "brains"} {
		others = append(others, readMaintenances(t)[name])
	}
	rollout, together := request.Maintain{GracePeriod: -1, BackoffLimit: -1}, request.Maintain{GracePeriod: -1, BackoffLimit: -1, Together: true}
	rollout.MaxPendingPods, together.MaxPendingPods = -1, -1
	allowed := together
	allowed.AllControlPlaneNodes = true
	lastAllowed := allowed
	lastAllowed.LastSchedulableNode = true
	var text strings.Builder
	for _, tc := range []struct {
		name   string
		asked  request.Maintain
		choice nodeChoice
	}{
		{"a pool", rollout, nodeChoice{selector: "pool=web"}},
		{"two nodes", rollout, nodeChoice{named: []string{"worker-01", "another"}}},
		{"one that nobody else has", rollout, nodeChoice{named: []string{"another"}}},
		{"one that is not there", rollout, nodeChoice{named: []string{"another", "nosuch"}}},
		{"labels that no node has", rollout, nodeChoice{selector: "pool=wep"}},
		{"the whole cluster", rollout, nodeChoice{selector: "pool!=db"}},
		{"the whole cluster together", allowed, nodeChoice{selector: "pool!=db"}},
		{"the whole cluster together, to the last one", lastAllowed, nodeChoice{selector: "pool!=db"}},
		{"the control plane, one at a time", rollout, nodeChoice{selector: controlPlane}},
		{"the control plane together", together, nodeChoice{selector: controlPlane}},
		{"the control plane together, as is wanted", allowed, nodeChoice{selector: controlPlane}},
		{"two of the control plane", together, nodeChoice{named: []string{"cp-1", "cp-2"}}},
	} {
		m := &maintainFlags{Maintain: tc.asked, name: "new", nodes: tc.choice}
		wanted, err := m.object(noon)
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
	golden(t, "maintain/looks", text.String())
}

func TestAWrongCommandLineOfMaintainIsRefused(t *testing.T) {
	for name, args := range map[string][]string{
		"maintain-nothing":           {"maintain"},
		"maintain-no-nodes":          {"maintain", "night"},
		"maintain-both":              {"maintain", "night", "worker-1", "-l", "a=b"},
		"maintain-a-pod":             {"maintain", "pod/night", "worker-1"},
		"maintain-a-name":            {"maintain", "Night", "worker-1"},
		"maintain-a-percentage":      {"maintain", "night", "worker-1", "--max-unavailable", "110%"},
		"maintain-a-window":          {"maintain", "night", "worker-1", "--not-before", "2099-01-02T00:00:00Z", "--deadline", "2099-01-01T00:00:00Z"},
		"maintain-two-jobs":          {"maintain", "night", "worker-1", "--job", "a", "--work", "none"},
		"maintain-a-hook":            {"maintain", "night", "worker-1", "--hook", "backup@dawn"},
		"maintain-together":          {"maintain", "night", "worker-1", "--all-together", "--max-unavailable", "2"},
		"maintain-yaml":              {"maintain", "night", "worker-1", "-o", "yaml"},
		"maintain-timeout":           {"maintain", "night", "worker-1", "--timeout", "-1s"},
		"maintenance-unknown":        {"maintenance", "stop"},
		"maintenance-pause-nothing":  {"maintenance", "pause"},
		"maintenance-a-node":         {"maintenance", "status", "node/worker-1"},
		"maintenance-stage-unknown":  {"maintenance", "stage", "night", "reboot"},
		"maintenance-watch-yaml":     {"maintenance", "status", "-w", "-o", "yaml"},
		"maintenance-resume-minus":   {"maintenance", "resume", "night", "--pause-after", "-3"},
		"maintenance-open-two":       {"maintenance", "open", "night", "worker-1"},
		"done-nothing":               {"done"},
		"done-a-pod":                 {"done", "pod/worker-1"},
		"maintain-empty-selector":    {"maintain", "night", "-l", " "},
		"maintain-an-hour-of-work":   {"maintain", "night", "worker-1", "--work", "none", "--work-timeout", "1h"},
		"maintain-dry-run-of-what":   {"maintain", "night", "worker-1", "--dry-run=perhaps"},
		"maintain-per-domain-of-all": {"maintain", "night", "worker-1", "--per-domain", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := execute(t, args...)
			if code != Usage || out != "" {
				t.Errorf("exit code %d, want %d; stdout %q", code, Usage, out)
			}
			golden(t, "usage/"+name, errOut)
		})
	}
}

func TestHelpOfMaintenancesSaysWhatIsNeeded(t *testing.T) {
	for _, command := range []string{
		"maintain", "maintenance", "maintenance status", "maintenance pause", "maintenance resume", "maintenance retry", "maintenance stage",
		"maintenance abort", "maintenance open", "maintenance hold", "done",
	} {
		out, errOut, code := execute(t, append(strings.Fields(command), "--help")...)
		if code != Done || errOut != "" {
			t.Errorf("exit code %d; stderr %q", code, errOut)
		}
		golden(t, "help/"+strings.ReplaceAll(command, " ", "-"), out)
	}
}
