// SPDX-License-Identifier: Apache-2.0

package plan

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

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/kubectl/forecast"
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
				clitest.GoldenStyles(t, "plan/"+name+suffix, func(out io.Writer, style ui.Style) error {
					text := predictionText(style, prediction, all)
					if !all { // wide is as wide as it is
						wantWithin(t, style, text)
					}
					_, err := io.WriteString(out, text)
					return err
				})
			})
		}
		t.Run(name, func(t *testing.T) { clitest.GoldenEncoded(t, "plan/"+name, predictionOf(t, name)) })
	}
}

// A color says nothing that the words do not.
func TestAPlanSaysTheSameWithoutColors(t *testing.T) {
	var plain, colored bytes.Buffer
	for out, style := range map[*bytes.Buffer]ui.Style{&plain: {Width: 80}, &colored: {Width: 80, Color: true}} {
		out.WriteString(predictionText(style, predictionOf(t, "blocked"), false))
	}
	if bare := colors.ReplaceAllString(colored.String(), ""); bare != plain.String() {
		t.Errorf("without its colors it is\n%s\nand not\n%s", bare, plain.String())
	}
}

func TestTheExitCodeOfAPlanSaysWhetherItBlocks(t *testing.T) {
	for prediction, want := range map[string]int{"blocked": cli.WouldBlock, "clear": cli.Done} {
		for _, f := range []cli.Format{cli.Human, cli.Wide, cli.JSON, cli.YAML} {
			tool, _, _ := clitest.Tool()
			code, err := cli.CodeOf(showPrediction(tool, &cli.Output{Format: f}, predictionOf(t, prediction)))
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
			if sorted, _ := yaml.YAMLToJSON(got); string(sorted) != tc.want || fmt.Sprint(p.nodes.Named) != tc.nodes {
				t.Errorf("nodes %v, parameters %s", p.nodes.Named, sorted)
			}
		})
	}
}

func TestAPlanOfNothingIsWrongUsage(t *testing.T) {
	for want, tc := range map[string]struct {
		file string
		args []string
	}{
		"the nodes are missing":      {"", nil},
		"before its containers":      {"", []string{"worker-1", "--grace-period=0"}},
		"[filename force]":           {"{kind: DrainParameters}", []string{"worker-1", "--force"}},
		"is none of: LifecycleEvent": {"{kind: Pod}", []string{"worker-1"}},
		"error converting YAML":      {"{", []string{"worker-1"}},
		"unknown field":              {"{kind: LifecycleEvent, spek: {}}", []string{"worker-1"}},
		`"firmware" is not drain`:    {"{kind: LifecycleEvent, spec: {transitionName: firmware}}", nil},
		"names of nodes or --sel":    {"", []string{"worker-1", "-l", "zone=a"}},
	} {
		_, _, err := checked(t, tc.file, tc.args...)
		if code, _ := cli.CodeOf(err); code != cli.WrongUsage || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("exit code %d, error %v; want %q", code, err, want)
		}
	}
}

// checked parses a command line of plan, with a file if there is a text for it.
func checked(t *testing.T, text string, args ...string) (*planFlags, []byte, error) {
	t.Helper()
	p := &planFlags{}
	streams, _, _, _ := genericiooptions.NewTestIOStreams()
	tool := cli.NewTool(streams)
	command := newPlan(tool)
	command.ResetFlags()
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
	if err := command.ValidateFlagGroups(); err != nil {
		return p, nil, cli.Usagef("%w", err)
	}
	parameters, err := p.check(tool, command.Flags().Args())
	return p, parameters, err
}

func TestAPlanThatCouldNotReadEverythingPromisesNothing(t *testing.T) {
	var out bytes.Buffer
	out.WriteString(predictionText(ui.Style{}, plan.Prediction{Caveats: []string{"no budgets"}}, false))
	if !strings.Contains(out.String(), "as far as could be read") {
		t.Errorf("it says\n%s", out.String())
	}
}

// Whatever a file says: it is a maintenance with a name, or asks for drains, or an error that
// says which file it is.
func FuzzPlanFile(f *testing.F) {
	for _, seed := range []string{
		"", "{", "kind: Pod", "kind: [NodeMaintenance]",
		"apiVersion: slipway.dev/v1alpha1\nkind: NodeMaintenance\nmetadata: {name: m}\nspec: {stage: Drain}",
		"apiVersion: slipway.dev/v1\nkind: NodeMaintenance\nmetadata: {name: m}",
		"apiVersion: slipway.dev/v1alpha1\nkind: DrainParameters\ngracePeriodSeconds: 30",
		"kind: LifecycleEvent\nspec: {transitionName: drain.slm.k8s.io, bindingNode: n, parameters: {hold: true}}",
		"kind: LifecycleEvent\nspec: {transitionName: other}", "kind: LifecycleEvent\nspecs: 7",
		"kind: DrainParameters\n? [a]\n: b", "&a [*a]",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := readPlanFile(&cli.Tool{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(text)}}, "-")
		switch {
		case err != nil:
			if !strings.HasPrefix(err.Error(), "--filename") {
				t.Errorf("it does not say where it comes from: %v", err)
			}
			if file.maintenance != nil || file.node != "" || file.parameters != nil {
				t.Errorf("something is read of what is wrong: %+v", file)
			}
		case file.maintenance != nil && file.maintenance.Name == "":
			t.Error("a maintenance has no name")
		}
	})
}

func forecastOf(t *testing.T, name string) forecast.Forecast {
	t.Helper()
	text, err := os.ReadFile("testdata/plan/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var f forecast.Forecast
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAForecastFitsTheTerminal(t *testing.T) {
	for _, name := range []string{"rollout", "rollout-clear"} {
		for suffix, all := range map[string]bool{"": false, "-wide": true} {
			t.Run(name+suffix, func(t *testing.T) {
				clitest.GoldenStyles(t, "plan/"+name+suffix, func(out io.Writer, style ui.Style) error {
					text := forecastText(style, forecastOf(t, name), all)
					if !all { // wide is as wide as it is
						wantWithin(t, style, text)
					}
					_, err := io.WriteString(out, text)
					return err
				})
			})
		}
		t.Run(name, func(t *testing.T) { clitest.GoldenEncoded(t, "plan/"+name, forecastOf(t, name)) })
	}
}

func TestTheExitCodeOfAForecastSaysWhetherItBlocks(t *testing.T) {
	for name, want := range map[string]int{"rollout": cli.WouldBlock, "rollout-clear": cli.Done} {
		for _, f := range []cli.Format{cli.Human, cli.Wide, cli.JSON, cli.YAML} {
			tool, _, _ := clitest.Tool()
			code, err := cli.CodeOf(showForecast(tool, &cli.Output{Format: f}, "m", forecastOf(t, name)))
			if code != want || err != nil {
				t.Errorf("%s -o %q: exit code %d, error %v; want %d", name, f, code, err, want)
			}
		}
	}
}

func TestAForecastIsAskedForByAFileOrAName(t *testing.T) {
	const file = `{apiVersion: slipway.dev/v1alpha1, kind: NodeMaintenance, metadata: {name: night, uid: mine}, spec: {stage: Drain,
  nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: pool, operator: Exists}]}]}, rollout: {maxUnavailable: 2}}, status: {message: old}}`
	p, _, err := checked(t, file)
	if err != nil {
		t.Fatal(err)
	}
	if m := p.wanted; m == nil || m.Name != "night" || m.UID != "" || m.Status.Message != "" || m.Spec.Rollout.MaxUnavailable.IntVal != 2 {
		t.Errorf("wanted is %+v", m)
	}
	p, _, err = checked(t, "", "--maintenance=nm/night")
	if err != nil || p.maintenance != "night" {
		t.Errorf("maintenance %q, error %v", p.maintenance, err)
	}
	for want, tc := range map[string]struct {
		file string
		args []string
	}{
		"name no nodes: the NodeMaintenance": {file, []string{"worker-1"}},
		"name no nodes: --maintenance":       {"", []string{"--maintenance=night", "-l", "a=b"}},
		"[filename maintenance]":             {file, []string{"--maintenance=night"}},
		"[force maintenance]":                {"", []string{"--maintenance=night", "--force"}},
		"[filename force]":                   {file, []string{"--force"}},
		"is no NodeMaintenance":              {"", []string{"--maintenance=pod/night"}},
		"metadata.name of the NodeMain":      {"{apiVersion: slipway.dev/v1alpha1, kind: NodeMaintenance}", nil},
		`NodeMaintenance is "v1"`:            {"{apiVersion: v1, kind: NodeMaintenance}", nil},
		`unknown field "selector"`:           {"{apiVersion: slipway.dev/v1alpha1, kind: NodeMaintenance, metadata: {name: a}, spec: {selector: {}}}", nil},
	} {
		_, _, err := checked(t, tc.file, tc.args...)
		if code, _ := cli.CodeOf(err); code != cli.WrongUsage || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("exit code %d, error %v; want %q", code, err, want)
		}
	}
}

// colors matches the colors in a text.
var colors = regexp.MustCompile("\x1b\\[[0-9]*m")

// wantWithin fails for lines that are wider than the terminal.
func wantWithin(t *testing.T, style ui.Style, text string) {
	t.Helper()
	for line := range strings.Lines(colors.ReplaceAllString(text, "")) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); style.Width > 0 && n > style.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
