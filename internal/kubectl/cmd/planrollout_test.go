// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/slipway-k8s/slipway/internal/kubectl/forecast"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

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
				goldenStyles(t, "plan/"+name+suffix, func(out io.Writer, style ui.Style) error {
					var text bytes.Buffer
					err := printForecast(io.MultiWriter(out, &text), style, forecastOf(t, name), all)
					if !all { // wide is as wide as it is
						wantWithin(t, style, text.String())
					}
					return err
				})
			})
		}
		t.Run(name, func(t *testing.T) { goldenEncoded(t, "plan/"+name, forecastOf(t, name)) })
	}
}

func TestTheExitCodeOfAForecastSaysWhetherItBlocks(t *testing.T) {
	for name, want := range map[string]int{"rollout": Blocked, "rollout-clear": Done} {
		for _, f := range []format{people, wide, jsonText, yamlText} {
			streams, _, _, _ := genericiooptions.NewTestIOStreams()
			code, err := codeOf(newTool(streams).printForecasted(f, forecastOf(t, name)))
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
		"--maintenance or --filename":        {file, []string{"--maintenance=night"}},
		"--maintenance or --force":           {"", []string{"--maintenance=night", "--force"}},
		"--filename or --force":              {file, []string{"--force"}},
		"is no NodeMaintenance":              {"", []string{"--maintenance=pod/night"}},
		"metadata.name of the NodeMain":      {"{apiVersion: slipway.dev/v1alpha1, kind: NodeMaintenance}", nil},
		`NodeMaintenance is "v1"`:            {"{apiVersion: v1, kind: NodeMaintenance}", nil},
		`unknown field "selector"`:           {"{apiVersion: slipway.dev/v1alpha1, kind: NodeMaintenance, metadata: {name: a}, spec: {selector: {}}}", nil},
	} {
		_, _, err := checked(t, tc.file, tc.args...)
		if code, _ := codeOf(err); code != Usage || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("exit code %d, error %v; want %q", code, err, want)
		}
	}
}

func TestThePlanOfAMaintenanceIsAskedForByItsFlags(t *testing.T) {
	for args, want := range map[string]string{
		"night worker-1 --plan --max-unavailable=2 -o wide": "",
		"night worker-1 --plan -o yaml":                     "",
		"night worker-1 --plan --dry-run":                   "--plan or --dry-run",
		"night worker-1 --plan -o name":                     "-o name does not go with --plan",
		"night worker-1 -o wide":                            "-o wide goes with --plan",
		"night worker-1 --plan --max-unavailable=none":      "--max-unavailable",
	} {
		tool, _, _ := testTool()
		m := &maintainFlags{}
		command := newMaintain(tool)
		command.ResetFlags()
		m.nodes.addSelector(command)
		m.addFlags(command)
		if err := command.ParseFlags(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		err := m.check(command.Flags().Args())
		switch code, _ := codeOf(err); {
		case want == "" && err != nil:
			t.Errorf("%s: %v", args, err)
		case want != "" && (code != Usage || !strings.Contains(fmt.Sprint(err), want)):
			t.Errorf("%s: exit code %d, error %v; want %q", args, code, err, want)
		}
	}
}
