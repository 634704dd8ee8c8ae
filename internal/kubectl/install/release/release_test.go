// SPDX-License-Identifier: Apache-2.0

package release

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/config"
)

const (
	kubernetes = lifecyclev1alpha1.GroupKubernetes
	own        = lifecyclev1alpha1.GroupSlipway
)

func newRelease(t *testing.T, choice Choice) Release {
	t.Helper()
	r, err := New(config.Files, choice)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// names are those of a kind.
func names(objects []*unstructured.Unstructured, kind string) (found []string) {
	for _, o := range objects {
		if o.GetKind() == kind {
			found = append(found, o.GetName())
		}
	}
	return found
}

func TestWhereKubernetesEvictsTheControllerLeavesThatToIt(t *testing.T) {
	for evicts, want := range map[bool]string{true: "false", false: ""} {
		for _, o := range newRelease(t, Choice{Mode: Node, Group: own, EvictionRequests: true, KubernetesEvicts: evicts}).Objects {
			if o.GetKind() != "Deployment" {
				continue
			}
			containers, err := containersOf(o)
			if err != nil {
				t.Fatal(err)
			}
			args, _, _ := unstructured.NestedStringSlice(containers[0], "args")
			if got := flagOf(corev1.Container{Args: args}, evictionController); got != want {
				t.Errorf("where Kubernetes evicts (%t), --%s is %q; want %q", evicts, evictionController, got, want)
			}
		}
	}
}

func TestAReleaseIsWhatTheClusterNeeds(t *testing.T) {
	for name, tc := range map[string]struct {
		choice    Choice
		workloads []string
		crds      []string
		mutating  int
		reduced   bool
		group     string // of the transitions
	}{
		"an agent on each node": {
			Choice{Mode: Node, Group: kubernetes, Mutates: true},
			[]string{Controller, Agents},
			[]string{"lifecycleevents.lifecycle.k8s.io", "lifecycletransitions.lifecycle.k8s.io", "drainrules.slipway.dev", "freezes.slipway.dev", "nodeavailabilitybudgets.slipway.dev", "nodeholds.slipway.dev", "nodemaintenances.slipway.dev"},
			4, false, kubernetes,
		},
		"in the other home": {
			Choice{Mode: Node, Group: own, Mutates: true},
			[]string{Controller, Agents},
			[]string{"lifecycleevents.slm.slipway.dev", "lifecycletransitions.slm.slipway.dev", "drainrules.slipway.dev", "freezes.slipway.dev", "nodeavailabilitybudgets.slipway.dev", "nodeholds.slipway.dev", "nodemaintenances.slipway.dev"},
			4, false, own,
		},
		"central, on a server without policies that mutate": {
			Choice{Mode: Central, Group: kubernetes},
			[]string{Controller},
			[]string{"lifecycleevents.lifecycle.k8s.io", "lifecycletransitions.lifecycle.k8s.io", "drainrules.slipway.dev", "freezes.slipway.dev", "nodeavailabilitybudgets.slipway.dev", "nodeholds.slipway.dev", "nodemaintenances.slipway.dev"},
			0, false, kubernetes,
		},
		"with the reduced rights": {
			Choice{Mode: Node, Reduced: true, Group: kubernetes},
			[]string{Controller, Agents},
			[]string{"lifecycleevents.lifecycle.k8s.io", "lifecycletransitions.lifecycle.k8s.io", "drainrules.slipway.dev", "freezes.slipway.dev", "nodeavailabilitybudgets.slipway.dev", "nodeholds.slipway.dev", "nodemaintenances.slipway.dev"},
			0, true, kubernetes,
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelease(t, tc.choice)
			workloads := slices.Concat(names(r.Objects, "Deployment"), names(r.Objects, "DaemonSet"))
			if diff := cmp.Diff(tc.workloads, workloads); diff != "" {
				t.Errorf("workloads (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.crds, names(r.Objects, "CustomResourceDefinition")); diff != "" {
				t.Errorf("kinds (-want +got):\n%s", diff)
			}
			if got := len(names(r.Objects, "MutatingAdmissionPolicy")) + len(names(r.Objects, "MutatingAdmissionPolicyBinding")); got != 2*tc.mutating {
				t.Errorf("%d policies that mutate, with their bindings; want %d", got, 2*tc.mutating)
			}
			if got := slices.Contains(names(r.Objects, "ClusterRole"), "slipway-node-agent-reduced"); got != tc.reduced {
				t.Errorf("the reduced rights: %t; want %t", got, tc.reduced)
			}
			if r.Objects[0].GetKind() != "Namespace" {
				t.Errorf("%s is applied before the namespace", RefOf(r.Objects[0]))
			}
			var transitions, others []string
			for _, o := range r.Transitions {
				if o.GetKind() != "LifecycleTransition" {
					others = append(others, RefOf(o).String())
					continue
				}
				transitions = append(transitions, o.GetName())
				if got := o.GroupVersionKind().Group; got != tc.group {
					t.Errorf("%s is of group %s; want %s", RefOf(o), got, tc.group)
				}
			}
			if len(transitions) != 3 {
				t.Errorf("there are the transitions %v", transitions)
			}
			if diff := cmp.Diff([]string{"DrainRule slipway-system/slipway-jobs"}, others); diff != "" {
				t.Errorf("what is applied with them (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnImageOfOnesOwnIsThatOfAllWorkloads(t *testing.T) {
	const image = "registry.example.com/slipway:test"
	r := newRelease(t, Choice{Mode: Node, Group: kubernetes, Image: image})
	for _, o := range r.Objects {
		if o.GetKind() != "Deployment" && o.GetKind() != "DaemonSet" {
			continue
		}
		containers, err := containersOf(o)
		if err != nil || len(containers) != 1 || containers[0]["image"] != image {
			t.Errorf("%s has containers %v: %v", RefOf(o), containers, err)
		}
	}
}

func TestSlipwayHostRunsAsWhoIsChosen(t *testing.T) {
	const image = "registry.example.com/slipway:test"
	for name, tc := range map[string]struct {
		mode Mode
		user int64
	}{
		"as nobody":       {Node, HostUser},
		"as root":         {Node, 0},
		"in central mode": {Central, HostUser},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRelease(t, Choice{Mode: tc.mode, Group: kubernetes, Mutates: true, Host: true, HostUser: tc.user, Image: image})
			at := slices.IndexFunc(r.Objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "DaemonSet" && o.GetName() == Hosts })
			if at < 0 {
				t.Fatalf("there are the DaemonSets %v", names(r.Objects, "DaemonSet"))
			}
			pod, _, _ := unstructured.NestedMap(r.Objects[at].Object, "spec", "template", "spec")
			context := pod["securityContext"].(map[string]any)
			for _, field := range []string{"runAsUser", "runAsGroup", "fsGroup"} {
				if context[field] != tc.user {
					t.Errorf("%s is %v", field, context[field])
				}
			}
			for _, c := range pod["containers"].([]any) {
				if got := c.(map[string]any)["image"]; got != image {
					t.Errorf("it has the image %v", got)
				}
			}
			if !slices.Contains(names(r.Objects, "ValidatingAdmissionPolicy"), "going-down.slipway.dev") {
				t.Error("new pods come to a node that goes down")
			}
		})
	}
}

func TestTheDrainDriverIsAsChosen(t *testing.T) {
	settings := map[string]string{DriverName: "example.com/drain", SLA: "1h0m0s", "eviction-timeout": "10s", "grace-period": "5"}
	wanted := []string{"--driver-name=example.com/drain", "--sla=1h0m0s", "--eviction-timeout=10s", "--grace-period=5"}
	defaults := []string{"--driver-name=drain.slm.k8s.io", "--sla=5m0s", "--eviction-timeout=30s", "--grace-period=-1"}
	for name, tc := range map[string]struct {
		choice Choice
		in     string // the workload that has the driver in it
		args   []string
		shared bool
		driver string
		slas   []string
	}{
		"as it comes": {Choice{Mode: Node}, Agents, defaults, false, "drain.slm.k8s.io", []string{"5m0s", "5m0s"}},
		"in agents":   {Choice{Mode: Node, Drain: settings}, Agents, wanted, false, "example.com/drain", []string{"1h0m0s", "1h0m0s"}},
		"in reduced agents": {
			Choice{Mode: Node, Reduced: true, Drain: settings}, Agents, wanted, false, "example.com/drain", []string{"1h0m0s", "1h0m0s"},
		},
		"in the controller": {
			Choice{Mode: Central, Drain: settings}, Controller, wanted, false, "example.com/drain", []string{"1h0m0s", "1h0m0s"},
		},
		"beside others": {Choice{Mode: Node, ThirdPartyDrivers: true}, Agents, defaults, true, "drain.slm.k8s.io", []string{"5m0s", "5m0s"}},
		"in pods of its own": {
			Choice{Mode: Node, SeparateDrain: true}, Agents, []string{"--builtin-drivers="}, true, "drain.slm.k8s.io", []string{"5m0s", "5m0s"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.choice.Group, tc.choice.Mutates = kubernetes, true
			r := newRelease(t, tc.choice)
			at := slices.IndexFunc(r.Objects, func(o *unstructured.Unstructured) bool {
				return o.GetName() == tc.in && (o.GetKind() == "DaemonSet" || o.GetKind() == "Deployment")
			})
			containers, err := containersOf(r.Objects[at])
			if err != nil {
				t.Fatal(err)
			}
			args, _, _ := unstructured.NestedStringSlice(containers[0], "args")
			for _, want := range tc.args {
				if !slices.Contains(args, want) {
					t.Errorf("there is no %s in %v", want, args)
				}
			}
			pod, _, _ := unstructured.NestedMap(r.Objects[at].Object, "spec", "template", "spec")
			_, user := pod["securityContext"].(map[string]any)["runAsNonRoot"]
			onHost := false
			if volumes, has := pod["volumes"].([]any); has { // the controller has none
				_, onHost = volumes[0].(map[string]any)["hostPath"]
			}
			if onHost != tc.shared || user == tc.shared {
				t.Errorf("sockets are on the host: %t; the pod is no root's: %t; want shared: %t", onHost, user, tc.shared)
			}
			var slas []string
			for _, o := range r.Transitions {
				if o.GetKind() != "LifecycleTransition" {
					continue
				}
				if driver, _, _ := unstructured.NestedString(o.Object, "spec", "driver"); driver != tc.driver {
					t.Errorf("%s is of driver %s", RefOf(o), driver)
				}
				if sla, has, _ := unstructured.NestedString(o.Object, "spec", "sla"); has {
					slas = append(slas, sla)
				}
			}
			if diff := cmp.Diff(tc.slas, slas); diff != "" {
				t.Errorf("time limits (-want +got):\n%s", diff)
			}
		})
	}
}

// What config/ has and no release is optional: guards, and what the reduced variant adds,
// are in some.
func TestEverythingHasWhatAnyReleaseHas(t *testing.T) {
	everything, err := Everything(config.Files)
	if err != nil {
		t.Fatal(err)
	}
	have := map[Ref]bool{}
	for _, o := range everything {
		if have[RefOf(o)] {
			t.Errorf("%s is in it twice", RefOf(o))
		}
		have[RefOf(o)] = true
	}
	err = fs.WalkDir(config.Files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		objects, err := read(config.Files, path)
		for _, o := range objects {
			if have[RefOf(o)] == isShared(o) {
				t.Errorf("%s of %s is in it: %t", RefOf(o), path, have[RefOf(o)])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if last := DeletionOrder(everything); last[len(last)-1].GetKind() != "Namespace" {
		t.Errorf("%s is deleted last", RefOf(last[len(last)-1]))
	}
}

func TestWhatIsAppliedIsComparedWithWhatIsThere(t *testing.T) {
	object := func(metadata, spec map[string]any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"metadata": metadata, "spec": spec, "status": map[string]any{"seen": metadata["resourceVersion"]}}}
	}
	live := object(map[string]any{"name": "a", "resourceVersion": "1", "generation": int64(1)}, map[string]any{"replicas": int64(2)})
	for name, tc := range map[string]struct {
		live, applied *unstructured.Unstructured
		want          Verdict
	}{
		"nothing is there": {nil, live, Create},
		"the same":         {live, live, Same},
		"the same, of another version on the server": {
			live, object(map[string]any{"name": "a", "resourceVersion": "2", "generation": int64(7)}, map[string]any{"replicas": int64(2)}), Same,
		},
		"another spec": {live, object(map[string]any{"name": "a"}, map[string]any{"replicas": int64(3)}), Change},
		"a label more": {live, object(map[string]any{"name": "a", "labels": map[string]any{"b": "c"}}, map[string]any{"replicas": int64(2)}), Change},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Compare(tc.live, tc.applied); got != tc.want {
				t.Errorf("got %s; want %s", got, tc.want)
			}
		})
	}
}
