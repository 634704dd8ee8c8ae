// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/nodelease"
)

// standings are leases in each state, at noon.
func standings() []nodelease.Standing {
	at := noon.Add
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
	for name, f := range map[string]format{"lease": people, "lease/wide": wide} {
		goldenStyles(t, name, func(out io.Writer, style ui.Style) error {
			tool, printed, _ := testTool()
			if err := tool.printLeases(f, leaseRows(), style); err != nil {
				return err
			}
			_, err := printed.WriteTo(out)
			return err
		})
	}
	goldenEncoded(t, "lease", leaseRows())
}

func TestLeaseListSaysThatNobodyHoldsOne(t *testing.T) {
	const nobody = "Nobody holds the lease of a node.\n"
	for f, want := range map[format]string{people: nobody, wide: nobody, jsonText: "[]\n", yamlText: "[]\n"} {
		tool, out, _ := testTool()
		if err := tool.printLeases(f, []leaseRow{}, ui.Style{}); err != nil || out.String() != want {
			t.Errorf("-o %s: %q, %v", f, out, err)
		}
	}
}

func TestWhatLeaseGetSays(t *testing.T) {
	var text strings.Builder
	for _, row := range leaseRows() {
		text.WriteString(row.text())
	}
	golden(t, "lease/get", text.String())
}

func TestWhatLeaseAcquireSays(t *testing.T) {
	all := standings()
	golden(t, "lease/acquired", acquiredText(&leaseAcquireFlags{node: "control-1"}, all[0].Held)+
		acquiredText(&leaseAcquireFlags{node: "worker-1"}, all[1].Held)+
		acquiredText(&leaseAcquireFlags{node: "worker-2", holder: "fwup.example.com"}, all[2].Held))
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
		"lease-acquire-no-command":    {"lease", "acquire", "worker-1", "--holder=x", "--server=" + oneNode(t), "--kubeconfig=", "--", "nosuchcommand"},
		"lease-release-nothing":       {"lease", "release"},
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

// theLease is a server on which ada asks, with worker-1 and its lease as it is given. It
// refuses to write.
func theLease(t *testing.T, lease string) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer, code := `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`, http.StatusNotFound
		switch {
		case r.Method == http.MethodPut || strings.Contains(lease, "Forbidden"):
			answer, code = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"ada may not","reason":"Forbidden","code":403}`, http.StatusForbidden
		case r.URL.Path == "/apis/authentication.k8s.io/v1/selfsubjectreviews":
			answer, code = `{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1","status":{"userInfo":{"username":"ada"}}}`, http.StatusCreated
		case r.URL.Path == "/api/v1/nodes/worker-1":
			answer, code = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker-1","uid":"u1"}}`, http.StatusOK
		case strings.HasSuffix(r.URL.Path, "/kube-node-maintenance/leases/worker-1") && lease != "":
			answer, code = lease, http.StatusOK
		case r.Method == http.MethodPost:
			answer = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"namespaces \"kube-node-maintenance\" not found","reason":"NotFound","details":{"kind":"namespaces"},"code":404}`
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// leaseAs is a Lease as the server has it. Its times are long ago.
func leaseAs(holder string) string {
	return `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"worker-1","namespace":"kube-node-maintenance","resourceVersion":"7",
"annotations":{"slipway.dev/purpose":"new disk"}},"spec":{"holderIdentity":"` + holder + `","leaseDurationSeconds":60,
"acquireTime":"2026-05-01T12:00:00.000000Z","renewTime":"2026-05-01T12:00:00.000000Z"}}`
}

func TestLeasesThatAreNotToBeHad(t *testing.T) {
	for name, tc := range map[string]struct {
		lease string
		args  []string
		code  int
	}{
		"acquire-taken":       {leaseAs("kubeadmin-bob"), []string{"acquire", "worker-1"}, Blocked},
		"acquire-taken-run":   {leaseAs("kubeadmin-bob"), []string{"acquire", "worker-1", "--", "true"}, Blocked},
		"acquire-nowhere":     {"", []string{"acquire", "worker-1"}, Error},
		"acquire-forbidden":   {leaseAs(""), []string{"acquire", "worker-1"}, Error},
		"acquire-no-node":     {"", []string{"acquire", "worker-9"}, Error},
		"get-no-node":         {"", []string{"get", "worker-9"}, Error},
		"get-free":            {"", []string{"get", "node/worker-1"}, Done},
		"list-forbidden":      {"Forbidden", []string{"list"}, Error},
		"release-others":      {leaseAs("kubeadmin-bob"), []string{"release", "worker-1"}, Blocked},
		"release-others-name": {leaseAs("kubeadmin-bob"), []string{"release", "worker-1", "--holder=ada"}, Blocked},
		"release-expired":     {leaseAs("fwup"), []string{"release", "worker-1"}, Done},
		"release-free":        {leaseAs(""), []string{"release", "worker-1"}, Done},
		"release-no-node":     {"", []string{"release", "worker-9"}, Error},
		"release-forbidden":   {leaseAs("kubeadmin-ada"), []string{"release", "worker-1"}, Error},
		"break-forbidden":     {leaseAs("kubeadmin-bob"), []string{"release", "worker-1", "--force"}, Error},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := execute(t, append([]string{"lease", "--server=" + theLease(t, tc.lease), "--kubeconfig="}, tc.args...)...)
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			golden(t, "lease/"+name, "--- stdout\n"+out+"--- stderr\n"+errOut)
		})
	}
}

func TestHelpOfLeaseSaysWhatIsNeeded(t *testing.T) {
	for _, command := range []string{"lease", "lease acquire", "lease get", "lease list", "lease release"} {
		out, errOut, code := execute(t, append(strings.Fields(command), "--help")...)
		if code != Done || errOut != "" {
			t.Errorf("exit code %d; stderr %q", code, errOut)
		}
		golden(t, "help/"+strings.ReplaceAll(command, " ", "-"), out)
	}
}

func TestWhatOthersHaveWrittenDoesNothingToTheTerminalOfLease(t *testing.T) {
	held := nodelease.Held{Holder: hostile, Purpose: hostile, Since: noon, Until: noon.Add(time.Minute)}
	row := leaseRowOf(nodelease.Standing{Node: "worker-1", Held: held, Taken: true})
	for _, style := range []ui.Style{{}, {Terminal: true, Width: 80, Height: 24}} {
		tool, out, _ := testTool()
		if err := tool.printLeases(wide, []leaseRow{row}, style); err != nil {
			t.Fatal(err)
		}
		wantHarmless(t, out.String())
	}
	tool, out, errOut := testTool()
	tool.say(row.text())
	wantHarmless(t, out.String())
	_, _ = io.WriteString(tool.ErrOut, refusedRelease("worker-1", held).Error())
	wantHarmless(t, errOut.String())
}
