// SPDX-License-Identifier: Apache-2.0

// Package clitest has helpers for the tests of the commands: golden files, styles of a terminal,
// and texts with which a hostile object could forge what a terminal shows.
package clitest

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/request"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// DrainOf returns the event of 'kubectl slipway drain NODE'.
func DrainOf(t *testing.T, node string, change ...func(*lifecyclev1alpha1.LifecycleEvent)) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	event, err := request.Drain{GracePeriod: -1}.Event(node)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(event)
	}
	return event
}

var update = flag.Bool("update", false, "write the golden files again")

// Golden compares a text with the file of that name in testdata.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), -update writes it again:\n%s", path, diff)
	}
}

func text(b *bytes.Buffer) string { return strings.ReplaceAll(b.String(), os.Getenv("HOME"), "~") }

// Noon is the time of the clock in these tests.
var Noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// Styles describe a pipe and terminals. NO_COLOR gives a terminal without colors.
var Styles = map[string]ui.Style{
	"no-terminal":     {},
	"80-columns":      {Terminal: true, Width: 80, Height: 24, Color: true},
	"120-columns":     {Terminal: true, Width: 120, Height: 40, Color: true},
	"80-columns-bare": {Terminal: true, Width: 80, Height: 24},
}

// GoldenStyles compares the output in each of the styles with testdata.
func GoldenStyles(t *testing.T, name string, printed func(io.Writer, ui.Style) error) {
	t.Helper()
	for style, s := range Styles {
		t.Run(style, func(t *testing.T) {
			var out bytes.Buffer
			if err := printed(&out, s); err != nil {
				t.Fatal(err)
			}
			Golden(t, filepath.Join(name, style), out.String())
		})
	}
}

// GoldenEncoded compares the JSON and YAML of a value with testdata.
func GoldenEncoded(t *testing.T, name string, value any) {
	t.Helper()
	for _, f := range []cli.Format{cli.JSON, cli.YAML} {
		var out bytes.Buffer
		if err := cli.Encode(&out, f, value); err != nil {
			t.Fatal(err)
		}
		Golden(t, filepath.Join(name, string(f)), out.String())
	}
}

// Read reads objects from a file in testdata, separated by ---.
func Read[T any](t *testing.T, file string) []*T {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var all []*T
	for document := range bytes.SplitSeq(text, []byte("---\n")) {
		object := new(T)
		if err := yaml.UnmarshalStrict(document, object); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all = append(all, object)
	}
	return all
}

// Tool returns a tool whose clock stands at [Noon], and its two outputs.
func Tool() (*cli.Tool, *bytes.Buffer, *bytes.Buffer) {
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	t := cli.NewTool(streams)
	t.Clock = testingclock.NewFakeClock(Noon)
	return t, out, errOut
}

// Hostile is a text that the author of an event, a pod or a condition can choose: it renames
// the window, clears the screen, writes from right to left, and forges a line.
const Hostile = "\x1b]0;owned\x07\x1b[2J\u202etfel\u200b\u009b31m\r\nnode/worker-9 drained"

// WantHarmless fails for a text that contains hostile parts which change the terminal.
func WantHarmless(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(text, "owned") {
		t.Errorf("the hostile text is missing in\n%q", text)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "node/worker-9") {
			t.Errorf("a line is forged:\n%q", text)
		}
		if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%q goes to the terminal", line)
		}
	}
}

// HostileDrain returns a drain with [Hostile] in each field that third parties can write.
func HostileDrain(t *testing.T, node, status string) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	event := DrainOf(t, node)
	event.Spec.Reason, event.Spec.RequestedBy = Hostile, Hostile
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(status, "HOSTILE", strconv.QuoteToASCII(Hostile))), &event.Status); err != nil {
		t.Fatal(err)
	}
	return event
}

// Statuses for [HostileDrain].
const (
	HostileProgress = `{claimStatus: Claimed, claimedBy: {kind: NodeAgent, identity: HOSTILE}, driver: {name: HOSTILE, start: s, end: drain-complete},
progress: {total: 3}, blockersTotal: 2, blockers: [{object: HOSTILE, reason: Other, by: HOSTILE, message: HOSTILE}, {object: HOSTILE, reason: UnmanagedPod, message: HOSTILE}]}`
	HostileWait    = `{claimStatus: Pending, conditions: [{type: Claimable, status: "False", reason: HOSTILE, message: HOSTILE}]}`
	HostileFailure = `{claimStatus: Failed, driver: {name: d, start: s, end: drain-complete}, conditions: [{type: Finished, status: "True", reason: HOSTILE, message: HOSTILE}]}`
	HostileSuccess = `{claimStatus: Succeeded, driver: {name: d, start: s, end: drain-complete}, conditions: [{type: PodsLeft, status: "True", message: HOSTILE}]}`
	HostileReturn  = `{claimStatus: Succeeded, conditions: [{type: Schedulable, status: "False", message: HOSTILE}]}`
	HostileCancel  = `{claimStatus: Failed, conditions: [{type: Finished, status: "True", reason: Canceled, message: HOSTILE}]}`
	HostileExpiry  = `{claimStatus: SlaExpired, driver: {name: d, start: s, end: drain-complete}, conditions: [{type: Finished, status: "True", reason: SlaExpired, message: HOSTILE}]}`
)

// ErrRefused is the answer of an API server that refuses a request.
var ErrRefused = errors.New("an admission policy refuses the request")

// Execute runs a command line with these commands, and returns its output and its exit code.
func Execute(t *testing.T, commands func(*cli.Tool) []*cobra.Command, args ...string) (out, errOut string, code int) {
	t.Helper()
	streams, _, stdout, stderr := genericiooptions.NewTestIOStreams()
	root := cli.NewRoot(cli.NewTool(streams), commands)
	root.SetArgs(args)
	code = cli.Run(t.Context(), root)
	return text(stdout), text(stderr), code
}
