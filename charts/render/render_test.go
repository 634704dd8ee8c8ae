// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func repository(t *testing.T) string {
	t.Helper()
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

const remedy = "run make manifests, and commit what it changes"

func TestTheManifestsAreThoseOfTheChart(t *testing.T) {
	root := repository(t)
	texts, err := rendered(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range texts {
		if got, err := os.ReadFile(filepath.Join(root, "config", name)); err != nil || string(got) != want {
			t.Errorf("config/%s is not as rendered (%v): %s", name, err, remedy)
		}
	}
}

func TestTheChartHasTheFilesOfConfig(t *testing.T) {
	root := repository(t)
	want, err := chartFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(root, "charts", "slipway", "files")
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if got, err := os.ReadFile(path); err != nil || want[name] == nil || !bytes.Equal(got, want[name]) {
			t.Errorf("files/%s is not that of config (%v): %s", name, err, remedy)
		}
		delete(want, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		t.Errorf("files/%s is missing: %s", name, remedy)
	}
}

// object is what a test wants to know of a document.
type object struct {
	Kind     string
	Metadata struct{ Name string }
}

// objects are those of a chart with these values, as "Kind name".
func objects(t *testing.T, at place, v values) map[string]string {
	t.Helper()
	rendered, err := render(repository(t), at, v)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, document := range rendered {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		name := o.Kind + " " + o.Metadata.Name
		if found[name] != "" || o.Kind == "" {
			t.Errorf("%q is there twice, or is nothing", name)
		}
		found[name] = document
	}
	return found
}

func TestWhatIsInstalledDependsOnTheValues(t *testing.T) {
	const (
		agents    = "DaemonSet slipway-node-agent"
		requester = "MutatingAdmissionPolicy requester.slipway.dev"
		guards    = "MutatingAdmissionPolicy guards.slipway.dev"
		shutdowns = "ValidatingAdmissionPolicy node-records.slipway.dev"
		goingDown = "ValidatingAdmissionPolicy going-down.slipway.dev"
		hosts     = "DaemonSet slipway-host"
		weak      = "ClusterRole slipway-node-agent-reduced"
		nodes     = "ValidatingAdmissionPolicy agent-nodes.slipway.dev"
		central   = "ClusterRole slipway-controller-central"
		events    = "CustomResourceDefinition lifecycleevents.lifecycle.k8s.io"
		elsewhere = "CustomResourceDefinition lifecycleevents.slm.slipway.dev"
		rules     = "CustomResourceDefinition drainrules.slipway.dev"
		drain     = "LifecycleTransition drain.slm.k8s.io"
		budget    = "PodDisruptionBudget slipway-controller"
		network   = "NetworkPolicy slipway"
		monitor   = "ServiceMonitor slipway"
		alerts    = "PrometheusRule slipway"
	)
	for name, tc := range map[string]struct {
		version   string
		values    values
		has, none []string
	}{
		"as it comes": {
			"v1.37.1", nil,
			[]string{agents, requester, guards, shutdowns, events, rules, drain, budget},
			[]string{weak, nodes, central, elsewhere, network, monitor, hosts, goingDown},
		},
		"before there were MutatingAdmissionPolicies": {
			"v1.35.4",
			values{"reduced": true},
			[]string{agents, weak, nodes, shutdowns},
			[]string{requester, guards},
		},
		"central":                              {"v1.37.1", values{"mode": "central"}, []string{central, guards, shutdowns}, []string{agents, weak, "ClusterRole slipway-node-agent"}},
		"central, where reduced means nothing": {"v1.37.1", values{"mode": "central", "reduced": true}, []string{central}, []string{weak, nodes}},
		"without guards":                       {"v1.37.1", values{"guards": values{"enabled": false}}, []string{requester}, []string{guards}},
		"in another API group":                 {"v1.37.1", values{"api": values{"group": "slm.slipway.dev"}}, []string{elsewhere, rules, drain}, []string{events}},
		"with slipway-host":                    {"v1.37.1", values{"host": values{"enabled": true}}, []string{agents, hosts, goingDown}, nil},
		"without CRDs":                         {"v1.37.1", values{"crds": values{"install": false}}, []string{agents}, []string{events, rules}},
		"with all that is optional": {"v1.37.1", values{
			"networkPolicy": values{"enabled": true}, "metrics": values{"enabled": true}, "serviceMonitor": values{"enabled": true},
			"prometheusRule": values{"enabled": true},
		}, []string{network, monitor, alerts, "Service slipway-metrics"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := objects(t, place{tc.version, "slipway-system"}, tc.values)
			for _, want := range tc.has {
				if found[want] == "" {
					t.Errorf("there is no %s", want)
				}
			}
			for _, not := range tc.none {
				if found[not] != "" {
					t.Errorf("there is a %s", not)
				}
			}
		})
	}
}

// No pod of Slipway's is one that could do something to its node, but where that was chosen.
func TestPodsAreHarmless(t *testing.T) {
	for _, v := range []values{nil, {"mode": "central"}, {"reduced": true}} {
		for name, document := range objects(t, newest, v) {
			if !strings.HasPrefix(name, "DaemonSet") && !strings.HasPrefix(name, "Deployment") {
				continue
			}
			for _, want := range []string{
				"runAsNonRoot: true", "readOnlyRootFilesystem: true", "allowPrivilegeEscalation: false",
				"capabilities: {drop: [ALL]}", "seccompProfile: {type: RuntimeDefault}",
			} {
				if !strings.Contains(document, want) {
					t.Errorf("%s with %v has no %q", name, v, want)
				}
			}
			for _, not := range []string{"hostPath", "hostNetwork", "hostPID", "privileged"} {
				if strings.Contains(document, not) {
					t.Errorf("%s with %v has %q", name, v, not)
				}
			}
		}
	}
	root := objects(t, newest, values{"thirdPartyDrivers": values{"enabled": true}})["DaemonSet slipway-node-agent"]
	for _, want := range []string{"hostPath: {path: /var/lib/slipway", "runAsUser: 0", "capabilities: {drop: [ALL]}"} {
		if !strings.Contains(root, want) {
			t.Errorf("with drivers of others, the agent has no %q", want)
		}
	}
	if strings.Contains(root, "/var/lib/kubelet") {
		t.Error("with drivers of others, the agent sees folders of the kubelet")
	}
	kubelet := objects(t, newest, values{"thirdPartyDrivers": values{"enabled": true, "kubeletFolders": []any{"server-side-drain"}}})["DaemonSet slipway-node-agent"]
	for _, want := range []string{
		"- --plugin-registration-path=/var/lib/slipway/plugins_registry,/var/lib/kubelet/plugins_registry",
		"{name: kubelet, mountPath: /var/lib/kubelet/plugins_registry, readOnly: true}",
		`{name: kubelet-0, mountPath: "/var/lib/kubelet/plugins/server-side-drain", readOnly: true}`,
		"hostPath: {path: /var/lib/kubelet/plugins_registry, type: Directory}",
		`hostPath: {path: "/var/lib/kubelet/plugins/server-side-drain", type: DirectoryOrCreate}`,
	} {
		if !strings.Contains(kubelet, want) {
			t.Errorf("with a driver in the kubelet's folder, the agent has no %q", want)
		}
	}
}

// The kubelet's folder is where slipway-host can write it only where somebody has asked for that,
// and the control plane is taken away only where somebody has asked for that, too.
func TestStaticPodsAreLeftAloneUnlessAskedFor(t *testing.T) {
	for name, tc := range map[string]struct {
		host      values
		want, not []string
	}{
		"by default": {values{"enabled": true}, nil, []string{"--static-pods", "--control-plane-static-pods", "manifests"}},
		"asked for": {
			values{"enabled": true, "staticPods": values{"enabled": true, "path": "/etc/kubelet.d"}},
			[]string{"- --static-pods=/host/manifests", "- {name: manifests, mountPath: /host/manifests}", `hostPath: {path: "/etc/kubelet.d", type: Directory}`},
			[]string{"--control-plane-static-pods"},
		},
		"with the control plane": {
			values{"enabled": true, "staticPods": values{"enabled": true, "controlPlane": true}},
			[]string{"- --control-plane-static-pods", `hostPath: {path: "/etc/kubernetes/manifests", type: Directory}`},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			host := objects(t, newest, values{"host": tc.host})["DaemonSet slipway-host"]
			for _, text := range tc.want {
				if !strings.Contains(host, text) {
					t.Errorf("there is no %q in\n%s", text, host)
				}
			}
			for _, text := range tc.not {
				if strings.Contains(host, text) {
					t.Errorf("there is %q", text)
				}
			}
		})
	}
}

// probedPod is what a test wants to know of a pod that kubelets probe.
type probedPod struct {
	Spec struct {
		Template struct {
			Spec struct{ Containers []probedContainer }
		}
	}
}

type probedContainer struct {
	Name                          string
	Args                          []string
	Ports                         []probedPort
	LivenessProbe, ReadinessProbe struct {
		HTTPGet struct{ Path, Port string }
	}
}

type probedPort struct {
	Name          string
	ContainerPort int
}

// wrong says what a kubelet would not find where it asks.
func (c probedContainer) wrong() string {
	live, ready := c.LivenessProbe.HTTPGet, c.ReadinessProbe.HTTPGet
	if live.Path != "/healthz" || ready.Path != "/readyz" || live.Port != ready.Port {
		return fmt.Sprintf("it is asked at %v and %v", live, ready)
	}
	at := slices.IndexFunc(c.Ports, func(p probedPort) bool { return p.Name == live.Port })
	if at < 0 {
		return "it has no port " + live.Port
	}
	if flag := fmt.Sprintf("--health-probe-bind-address=:%d", c.Ports[at].ContainerPort); !slices.Contains(c.Args, flag) {
		return fmt.Sprintf("its port is not where it answers: there is no %s in %q", flag, c.Args)
	}
	return ""
}

// Kubelets ask each process where it answers: at the port that its flag says, for its liveness and
// its readiness. What the processes answer there, test/outage asks.
func TestKubeletsAskWhereProcessesAnswer(t *testing.T) {
	const keeper = "keeper" // it speaks with slipway-host alone
	seen := map[string]bool{}
	for _, v := range []values{nil, {"mode": "central"}, {"metrics": values{"enabled": true}, "host": values{"enabled": true}}} {
		for name, document := range objects(t, newest, v) {
			var pod probedPod
			if !strings.HasPrefix(name, "DaemonSet") && !strings.HasPrefix(name, "Deployment") {
				continue
			}
			if err := yaml.Unmarshal([]byte(document), &pod); err != nil {
				t.Fatal(err)
			}
			for _, c := range pod.Spec.Template.Spec.Containers {
				if wrong := c.wrong(); wrong != "" && c.Name != keeper {
					t.Errorf("%s with %v: container %s: %s", name, v, c.Name, wrong)
				}
				seen[c.Name] = true
			}
		}
	}
	for _, name := range []string{"node-agent", "controller", "slipway-host"} {
		if !seen[name] {
			t.Errorf("there was no container %s", name)
		}
	}
}

func TestAnImageIsNamedByItsDigestWhereThereIsOne(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	for want, v := range map[string]values{
		"ghcr.io/slipway-k8s/slipway:0.1.0": nil,
		"example.com/s:v2":                  {"image": values{"repository": "example.com/s", "tag": "v2"}},
		"example.com/s@" + digest:           {"image": values{"repository": "example.com/s", "tag": "v2", "digest": digest}},
	} {
		if agent := objects(t, newest, v)["DaemonSet slipway-node-agent"]; !strings.Contains(agent, fmt.Sprintf("image: %q", want)) {
			t.Errorf("there is no image %q", want)
		}
	}
}

// A driver of a third party beside the controller, and agents on the nodes: the controller may evict no more than before.
func TestCentralDriversRunBesideAgents(t *testing.T) {
	rendered := objects(t, newest, values{"centralDrivers": []any{map[string]any{
		"name": "firmware", "image": "example.com/firmware:1",
		"volumeMounts": []any{map[string]any{"name": "sockets", "mountPath": "/var/lib/slipway"}},
	}}})
	controller := rendered["Deployment slipway-controller"]
	for _, want := range []string{"--plugin-registration-path=/var/lib/slipway/plugins_registry", "image: example.com/firmware:1", "emptyDir"} {
		if !strings.Contains(controller, want) {
			t.Errorf("the controller has no %s:\n%s", want, controller)
		}
	}
	if strings.Count(controller, "mountPath: /var/lib/slipway") != 2 || strings.Contains(controller, "--builtin-drivers") {
		t.Errorf("the two containers do not share the sockets, or the controller drains:\n%s", controller)
	}
	if rendered["DaemonSet slipway-node-agent"] == "" || rendered["ClusterRole slipway-controller-central"] != "" {
		t.Error("there are no agents, or the controller may evict")
	}
}

func TestTheAlertsAreThoseOfConfig(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository(t), "config", "monitoring", "alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var config, chart struct {
		Groups any
		Spec   struct{ Groups any }
	}
	rendered := objects(t, newest, values{"metrics": values{"enabled": true}, "prometheusRule": values{"enabled": true}})["PrometheusRule slipway"]
	if err := errors.Join(yaml.Unmarshal(text, &config), yaml.Unmarshal([]byte(rendered), &chart)); err != nil {
		t.Fatal(err)
	}
	if config.Groups == nil || !reflect.DeepEqual(config.Groups, chart.Spec.Groups) {
		t.Errorf("the chart's are\n%v\nnot\n%v", chart.Spec.Groups, config.Groups)
	}
}

func TestValuesThatAreNoneAreRefused(t *testing.T) {
	for _, v := range []values{
		{"mode": "both"},
		{"reduced": "yes"},
		{"guard": values{"enabled": true}},
		{"image": values{"digest": "sha256:1"}},
		{"agent": values{"maxUnavailable": "0%"}},
		{"controller": values{"replicas": 0}},
		{"api": values{"group": "example.com"}},
		{"serviceMonitor": values{"enabled": true}},
		{"prometheusRule": values{"enabled": true}},
		{"host": values{"staticPods": values{"enabled": true}}},
		{"host": values{"enabled": true, "staticPods": values{"controlPlane": true}}},
		{"host": values{"enabled": true, "staticPods": values{"enabled": true, "path": "manifests"}}},
	} {
		if _, err := render(repository(t), newest, v); err == nil {
			t.Errorf("%v is accepted", v)
		}
	}
}

// Where the chart is installed, what config names after slipway-system is named after it:
// the accounts in the policies, above all.
func TestNothingNamesAnotherNamespace(t *testing.T) {
	for name, document := range objects(t, place{"v1.37.1", "elsewhere"}, nil) {
		if !strings.HasPrefix(name, "CustomResourceDefinition") && strings.Contains(document, "slipway-system") {
			t.Errorf("%s names slipway-system", name)
		}
	}
}

// TestEachPolicyIsInstalled has no policy of config/admission forgotten, but for what is
// optional, in folders of its own.
func TestEachPolicyIsInstalled(t *testing.T) {
	root := repository(t)
	texts, err := rendered(root)
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(root, "config", "admission", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are %d policies: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, document := range documents(string(text)) {
			for name := range manifests {
				if !strings.Contains(texts[name], document) {
					t.Errorf("config/%s has not all of %s: charts/slipway/templates/admission.yaml names what is installed", name, filepath.Base(file))
				}
			}
		}
	}
}
