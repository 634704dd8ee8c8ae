// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
)

// No node may publish what is for all nodes: the transitions are applied from files, in
// both homes, and are those that the driver would publish.
func TestTheManifestsHaveTheTransitionsOfTheDriver(t *testing.T) {
	for _, group := range []string{lifecyclev1alpha1.GroupKubernetes, lifecyclev1alpha1.GroupSlipway} {
		want := Transitions(DefaultDriverName, DefaultSLA)
		before := ShutdownTransition()
		if before.Name != shutdown.Transition {
			t.Errorf("events of shutdowns ask for %s, the driver knows %s", shutdown.Transition, before.Name)
		}
		want = append(want, before)
		for i := range want {
			want[i].APIVersion, want[i].Kind = group+"/"+lifecyclev1alpha1.Version, "LifecycleTransition"
		}
		var text []byte
		for _, file := range []string{"drain.yaml", "shutdown.yaml"} {
			read, err := os.ReadFile(filepath.Join("..", "..", "..", "config", "transitions", group, file))
			if err != nil {
				t.Fatal(err)
			}
			if text != nil {
				text = append(text, "\n---\n"...)
			}
			text = append(text, read...)
		}
		var got []lifecyclev1alpha1.LifecycleTransition
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var transition lifecyclev1alpha1.LifecycleTransition
			if err := yaml.UnmarshalStrict([]byte(document), &transition); err != nil {
				t.Fatal(err)
			}
			got = append(got, transition)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("transitions in %s (-want +got):\n%s", group, diff)
		}
	}
}
