// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/nodelease"
)

// standings are leases in each state, at noon.
func standings() []nodelease.Standing {
	at := clitest.Noon.Add
	return []nodelease.Standing{
		{Node: "control-1", Taken: true, Held: nodelease.Held{Holder: nodelease.Slipway, Purpose: "drain.slm.k8s.io, asked for by ada: kernel 6.1", Since: at(-7 * time.Minute), Until: at(53 * time.Second), Transitions: 12}},
		{Node: "worker-1", Taken: true, Held: nodelease.Held{Holder: "kubeadmin-ada", Purpose: "new disk", Since: at(-26 * time.Hour), Administrator: true, Transitions: 3}},
		{Node: "worker-2", Held: nodelease.Held{Holder: "fwup.example.com", Purpose: "firmware 2.4", Since: at(-time.Hour), Until: at(-10 * time.Minute), Transitions: 1}},
		{Node: "worker-3", Taken: true, Held: nodelease.Held{Holder: "system:serviceaccount:metal:rebooter", Since: at(-time.Minute), Until: at(-2 * time.Second)}},
		{Node: "worker-4", Held: nodelease.Held{Transitions: 9}},
		{Node: "worker-5", Held: nodelease.Held{Holder: "by-hand"}}, // somebody wrote a holder and nothing else
	}
}

func leaseRows() (rows []leaseRow) {
	for _, s := range standings() {
		rows = append(rows, leaseRowOf(s))
	}
	return rows
}

func TestWhatLeaseListShows(t *testing.T) {
	taken := slices.DeleteFunc(leaseRows(), func(r leaseRow) bool { return r.State == leaseFree })
	for name, wide := range map[string]bool{"lease": false, "lease/wide": true} {
		clitest.GoldenStyles(t, name, func(out io.Writer, style ui.Style) error {
			_, err := io.WriteString(out, leaseTable(taken, style, clitest.Noon, wide))
			return err
		})
	}
	clitest.GoldenEncoded(t, "lease", cli.List(leaseRows()))
}

func TestLeaseListSaysThatNobodyHoldsOne(t *testing.T) {
	const none = "No lease of a node is held.\n"
	for f, want := range map[cli.Format]string{cli.Human: none, cli.Wide: none, cli.Name: "", cli.YAML: "apiVersion: v1\nitems: []\nkind: List\n"} {
		tool, out, _ := clitest.Tool()
		if err := tool.Print(&cli.Output{Format: f}, listView(tool, nil)); err != nil || out.String() != want {
			t.Errorf("-o %s: %q, %v", f, out, err)
		}
	}
}

func TestWhatLeaseGetSays(t *testing.T) {
	var text strings.Builder
	for _, row := range leaseRows() {
		text.WriteString(row.text())
	}
	clitest.Golden(t, "lease/get", text.String())
}

func TestWhatLeaseAcquireSays(t *testing.T) {
	all := standings()
	clitest.Golden(t, "lease/acquired", acquiredText(&acquireFlags{node: "control-1"}, all[0].Held)+
		acquiredText(&acquireFlags{node: "worker-1"}, all[1].Held)+
		acquiredText(&acquireFlags{node: "worker-2", holder: "fwup.example.com"}, all[2].Held))
}

func TestAWrongCommandLineOfLeaseIsRefused(t *testing.T) {
	for name, args := range map[string][]string{
		"lease-unknown":               {"lease", "break", "worker-1"},
		"lease-get-nothing":           {"lease", "get"},
		"lease-get-a-pod":             {"lease", "get", "pod/cart-0"},
		"lease-list-an-argument":      {"lease", "list", "worker-1"},
		"lease-acquire-two":           {"lease", "acquire", "worker-1", "worker-2"},
		"lease-acquire-only-dashes":   {"lease", "acquire", "worker-1", "--"},
		"lease-acquire-no-node":       {"lease", "acquire", "--", "reboot"},
		"lease-acquire-too-long":      {"lease", "acquire", "worker-1", "--duration=2h"},
		"lease-acquire-too-short":     {"lease", "acquire", "worker-1", "--duration=0"},
		"lease-acquire-both":          {"lease", "acquire", "worker-1", "--duration=10m", "--administrator"},
		"lease-acquire-administrator": {"lease", "acquire", "worker-1", "--administrator", "--holder=ada"},
		"lease-acquire-unmeant":       {"lease", "acquire", "worker-1", "--holder=kubeadmin-ada"},
		"lease-acquire-no-command":    {"lease", "acquire", "worker-1", "--holder=x", "--server=" + clitest.OneNode(t), "--kubeconfig=", "--", "nosuchcommand"},
		"lease-release-nothing":       {"lease", "release"},
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

func TestLeasesThatAreNotToBeHad(t *testing.T) {
	for name, tc := range map[string]struct {
		lease string
		args  []string
		code  int
	}{
		"acquire-taken":       {clitest.LeaseAs("kubeadmin-bob"), []string{"acquire", "worker-1"}, cli.Held},
		"acquire-taken-run":   {clitest.LeaseAs("kubeadmin-bob"), []string{"acquire", "worker-1", "--", "true"}, cli.Held},
		"acquire-nowhere":     {"", []string{"acquire", "worker-1"}, cli.Error},
		"acquire-forbidden":   {clitest.LeaseAs(""), []string{"acquire", "worker-1"}, cli.Error},
		"acquire-no-node":     {"", []string{"acquire", "worker-9"}, cli.Error},
		"get-no-node":         {"", []string{"get", "worker-9"}, cli.Error},
		"get-free":            {"", []string{"get", "node/worker-1"}, cli.Done},
		"list-forbidden":      {"Forbidden", []string{"list"}, cli.Error},
		"release-others":      {clitest.LeaseAs("kubeadmin-bob"), []string{"release", "worker-1"}, cli.Held},
		"release-others-name": {clitest.LeaseAs("kubeadmin-bob"), []string{"release", "worker-1", "--holder=ada"}, cli.Held},
		"release-expired":     {clitest.LeaseAs("fwup"), []string{"release", "worker-1"}, cli.Done},
		"release-free":        {clitest.LeaseAs(""), []string{"release", "worker-1"}, cli.Done},
		"release-no-node":     {"", []string{"release", "worker-9"}, cli.Error},
		"release-forbidden":   {clitest.LeaseAs("kubeadmin-ada"), []string{"release", "worker-1"}, cli.Error},
		"break-forbidden":     {clitest.LeaseAs("kubeadmin-bob"), []string{"release", "worker-1", "--force"}, cli.Error},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := execute(t, append([]string{"lease", "--server=" + clitest.TheLease(t, tc.lease), "--kubeconfig="}, tc.args...)...)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			clitest.Golden(t, "lease/"+name, "--- stdout\n"+out+"--- stderr\n"+errOut)
		})
	}
}

func TestHelpOfLeaseSaysWhatIsNeeded(t *testing.T) {
	for _, command := range []string{"lease", "lease acquire", "lease get", "lease list", "lease release"} {
		out, errOut, code := execute(t, append(strings.Fields(command), "--help")...)
		if code != cli.Done || errOut != "" {
			t.Errorf("exit code %d; stderr %q", code, errOut)
		}
		clitest.Golden(t, "help/"+strings.ReplaceAll(command, " ", "-"), out)
	}
}

func TestWhatOthersHaveWrittenDoesNothingToTheTerminalOfLease(t *testing.T) {
	held := nodelease.Held{Holder: clitest.Hostile, Purpose: clitest.Hostile, Since: clitest.Noon, Until: clitest.Noon.Add(time.Minute)}
	row := leaseRowOf(nodelease.Standing{Node: "worker-1", Held: held, Taken: true})
	for _, style := range []ui.Style{{}, {Terminal: true, Width: 80, Height: 24}} {
		clitest.WantHarmless(t, leaseTable([]leaseRow{row}, style, clitest.Noon, true))
	}
	tool, out, errOut := clitest.Tool()
	tool.Sayf("%s", row.text())
	clitest.WantHarmless(t, out.String())
	_, _ = io.WriteString(tool.ErrOut, refusedRelease("worker-1", held).Error())
	clitest.WantHarmless(t, errOut.String())
}
