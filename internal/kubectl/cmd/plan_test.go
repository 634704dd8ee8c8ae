// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

func predictionOf(t *testing.T, name string) plan.Prediction {
	t.Helper()
	text, err := os.ReadFile("testdata/plan/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var p plan.Prediction
	if err := yaml.UnmarshalStrict(text, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAPlanFitsTheTerminal(t *testing.T) {
	for _, name := range []string{"blocked", "clear"} {
		for suffix, all := range map[string]bool{"": false, "-wide": true} {
			t.Run(name+suffix, func(t *testing.T) {
				prediction := predictionOf(t, name)
				goldenStyles(t, "plan/"+name+suffix, func(out io.Writer, style ui.Style) error {
					var text bytes.Buffer
					err := printPrediction(io.MultiWriter(out, &text), style, prediction, all)
					if !all { // wide is as wide as it is
						wantWithin(t, style, text.String())
					}
					return err
				})
			})
		}
		t.Run(name, func(t *testing.T) { goldenEncoded(t, "plan/"+name, predictionOf(t, name)) })
	}
}

var colors = regexp.MustCompile("\x1b\\[[0-9]*m")

func wantWithin(t *testing.T, style ui.Style, text string) {
	t.Helper()
	for line := range strings.Lines(colors.ReplaceAllString(text, "")) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); style.Width > 0 && n > style.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// A color says nothing that the words do not.
func TestAPlanSaysTheSameWithoutColors(t *testing.T) {
	var plain, colored bytes.Buffer
	for out, style := range map[*bytes.Buffer]ui.Style{&plain: {Width: 80}, &colored: {Width: 80, Color: true}} {
		if err := printPrediction(out, style, predictionOf(t, "blocked"), false); err != nil {
			t.Fatal(err)
		}
	}
	if bare := colors.ReplaceAllString(colored.String(), ""); bare != plain.String() {
		t.Errorf("without its colors it is\n%s\nand not\n%s", bare, plain.String())
	}
}

func TestTheExitCodeOfAPlanSaysWhetherItBlocks(t *testing.T) {
	for prediction, want := range map[string]int{"blocked": Blocked, "clear": Done} {
		for _, f := range []format{people, wide, jsonText, yamlText} {
			streams, _, _, _ := genericiooptions.NewTestIOStreams()
			code, err := codeOf(newTool(streams).printPlanned(f, predictionOf(t, prediction)))
			if code != want || err != nil {
				t.Errorf("%s -o %q: exit code %d, error %v; want %d", prediction, f, code, err, want)
			}
		}
	}
}

func TestAPlanNamesTheFlagThatLetsARefusedPodGo(t *testing.T) {
	pods := []plan.Pod{
		{Verdict: "Blocked", Reason: "UnmanagedPod", Message: "see the parameters"},
		{Verdict: "Blocked", Reason: "LocalStorage", Message: "see the parameters"},
		{Verdict: "Blocked", Reason: "BudgetExhausted", Message: "budget web allows none"},
		{Verdict: "Skip", Reason: "PodSkipped", Message: "says a rule"},
	}
	nameFlags(plan.Prediction{Nodes: []plan.Node{{Pods: pods}}})
	for i, want := range []string{"--force evicts it", "--delete-emptydir-data evicts it", "budget web allows none", "says a rule"} {
		if !strings.Contains(pods[i].Message, want) {
			t.Errorf("%s: %q", pods[i].Reason, pods[i].Message)
		}
	}
}

func TestAPlanIsAskedForAsADrainIs(t *testing.T) {
	const event = `{apiVersion: lifecycle.k8s.io/v1alpha1, kind: LifecycleEvent, metadata: {name: e}, spec: {transitionName: drain.slm.k8s.io,
  bindingNode: worker-1, parameters: {apiVersion: slipway.dev/v1alpha1, kind: DrainParameters, podTimeout: 90s}}}`
	const parameters = `{apiVersion: slipway.dev/v1alpha1, kind: DrainParameters, hold: true}`
	for name, tc := range map[string]struct {
		file  string
		args  []string
		nodes string
		want  string
	}{
		"by flags": {
			"",
			[]string{"node/worker-1", "worker-2", "--force", "--grace-period=30"},
			"[worker-1 worker-2]",
			`{"apiVersion":"slipway.dev/v1alpha1","gracePeriodSeconds":30,"kind":"DrainParameters","localStorage":"Refuse"}`,
		},
		"by an event": {event, nil, "[worker-1]", `{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters","podTimeout":"90s"}`},
		"by an event, for another node": {
			event, []string{"worker-9"}, "[worker-9]", `{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters","podTimeout":"90s"}`,
		},
		"by parameters": {parameters, []string{"worker-1"}, "[worker-1]", `{"apiVersion":"slipway.dev/v1alpha1","hold":true,"kind":"DrainParameters"}`},
	} {
		t.Run(name, func(t *testing.T) {
			p, got, err := checked(t, tc.file, tc.args...)
			if err != nil {
				t.Fatal(err)
			}
			if sorted, _ := yaml.YAMLToJSON(got); string(sorted) != tc.want || fmt.Sprint(p.nodes.named) != tc.nodes {
				t.Errorf("nodes %v, parameters %s", p.nodes.named, sorted)
			}
		})
	}
}

func TestAPlanOfNothingIsWrongUsage(t *testing.T) {
	for want, tc := range map[string]struct {
		file string
		args []string
	}{
		"say which nodes":         {"", nil},
		"before its containers":   {"", []string{"worker-1", "--grace-period=0"}},
		"--filename or --force":   {"{kind: DrainParameters}", []string{"worker-1", "--force"}},
		"neither LifecycleEvent":  {"{kind: Pod}", []string{"worker-1"}},
		"error converting YAML":   {"{", []string{"worker-1"}},
		"unknown field":           {"{kind: LifecycleEvent, spek: {}}", []string{"worker-1"}},
		`"firmware" is not drain`: {"{kind: LifecycleEvent, spec: {transitionName: firmware}}", nil},
		"names of nodes or --sel": {"", []string{"worker-1", "-l", "zone=a"}},
	} {
		_, _, err := checked(t, tc.file, tc.args...)
		if code, _ := codeOf(err); code != Usage || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("exit code %d, error %v; want %q", code, err, want)
		}
	}
}

// checked parses a command line of plan, with a file if there is a text for it.
func checked(t *testing.T, text string, args ...string) (*planFlags, []byte, error) {
	t.Helper()
	p := &planFlags{}
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	tool := newTool(streams)
	command := newPlan(tool)
	command.ResetFlags()
	p.nodes.addSelector(command)
	p.addFlags(command)
	if text != "" {
		file := filepath.Join(t.TempDir(), "drain.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-f", file)
	}
	if err := command.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	parameters, err := p.check(tool, command, command.Flags().Args())
	return p, parameters, err
}

func TestAPlanThatCouldNotReadEverythingPromisesNothing(t *testing.T) {
	var out bytes.Buffer
	if err := printPrediction(&out, ui.Style{}, plan.Prediction{Caveats: []string{"no budgets"}}, false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "as far as could be read") {
		t.Errorf("it says\n%s", out.String())
	}
}
