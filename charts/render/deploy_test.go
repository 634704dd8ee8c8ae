// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// rule is one of a ClusterRole.
type rule struct{ APIGroups, Resources, Verbs []string }

// rights are those of the ClusterRoles in files, as "group resource verb".
func rights(t *testing.T, files ...string) (all []string) {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(repository(t), file))
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range documents(string(text)) {
			var role struct {
				Kind  string
				Rules []rule
			}
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, r := range role.Rules {
				for _, group := range r.APIGroups {
					for _, resource := range r.Resources {
						for _, verb := range r.Verbs {
							all = append(all, group+" "+resource+" "+verb)
						}
					}
				}
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("no rights in %v", files)
	}
	return all
}

// What the driver may do in pods of its own is what it may do in the agent, which publishes
// nothing for it, and what any driver may.
func TestTheDriverOfDeployMayDoWhatTheBuiltInOneMay(t *testing.T) {
	allowed := rights(t, "config/rbac/node-agent.yaml", "config/rbac/driver.yaml")
	for _, right := range rights(t, "deploy/rbac.yaml") {
		if !slices.Contains(allowed, right) {
			t.Errorf("deploy/rbac.yaml has %q: the agent has not, and slipway-driver has not", right)
		}
		if strings.Contains(right, "lifecycleevents") {
			t.Errorf("deploy/rbac.yaml has %q: events are the agent's", right)
		}
	}
}

// daemonSet is what a test compares of two.
type daemonSet struct {
	Spec struct {
		UpdateStrategy any
		Template       struct{ Spec map[string]any }
	}
}

func daemonSetIn(t *testing.T, text string) daemonSet {
	t.Helper()
	var d daemonSet
	if err := yaml.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// A pod of the driver differs from that of an agent on the same sockets in what it runs.
func TestThePodsOfDeployAreLikeThoseOfAgents(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository(t), "deploy", "daemonset.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	ours := daemonSetIn(t, string(text))
	agents := daemonSetIn(t, objects(t, newest, values{"drain": values{"builtIn": false}})["DaemonSet slipway-node-agent"])
	for _, d := range []daemonSet{ours, agents} {
		pod := d.Spec.Template.Spec
		delete(pod, "serviceAccountName")
		container := pod["containers"].([]any)[0].(map[string]any)
		for _, own := range []string{"name", "image", "command", "args", "env"} {
			delete(container, own)
		}
	}
	if !reflect.DeepEqual(ours, agents) {
		t.Errorf("deploy/daemonset.yaml has\n%v\nand the agents have\n%v", ours, agents)
	}
}

func TestTheDrainDriverIsAsTheValuesSay(t *testing.T) {
	chosen := values{"driverName": "example.com/drain", "sla": "1h", "evictionTimeout": "10s", "gracePeriod": 5}
	args := []string{"- --driver-name=example.com/drain", "- --sla=1h", "- --eviction-timeout=10s", "- --grace-period=5"}
	for name, tc := range map[string]struct {
		values values
		object string
		want   []string
		not    string
	}{
		"in agents":          {values{"drain": chosen}, "DaemonSet slipway-node-agent", args, "hostPath"},
		"in the controller":  {values{"mode": "central", "drain": chosen}, "Deployment slipway-controller", args, "hostPath"},
		"in pods of its own": {values{"drain": values{"builtIn": false}}, "DaemonSet slipway-node-agent", []string{"- --builtin-drivers=\n", "hostPath"}, "--sla"},
		"the drain":          {values{"drain": chosen}, "LifecycleTransition drain.slm.k8s.io", []string{"driver: example.com/drain", "sla: 1h"}, "5m0s"},
		"the return":         {values{"drain": chosen}, "LifecycleTransition drain.slm.k8s.io-uncordon", []string{"driver: example.com/drain", "sla: 1h"}, "5m0s"},
		"a shutdown's drain": {values{"drain": chosen}, "LifecycleTransition drain.slm.k8s.io-shutdown", []string{"driver: example.com/drain"}, "sla"},
	} {
		t.Run(name, func(t *testing.T) {
			got := objects(t, newest, tc.values)[tc.object]
			for _, want := range tc.want {
				if !strings.Contains(got, want) {
					t.Errorf("there is no %q in\n%s", want, got)
				}
			}
			if strings.Contains(got, tc.not) {
				t.Errorf("there is %q in\n%s", tc.not, got)
			}
		})
	}
	for name, v := range map[string]values{
		"no grace": {"drain": values{"gracePeriod": 0}}, "no time": {"drain": values{"sla": "soon"}},
		"its own pods, without agents": {"mode": "central", "drain": values{"builtIn": false}},
	} {
		if _, err := render(repository(t), newest, v); err == nil {
			t.Errorf("%s is rendered", name)
		}
	}
}
