// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

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
		file, err := (&tool{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(text)}}).readPlanFile("-")
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
