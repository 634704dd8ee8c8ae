// SPDX-License-Identifier: Apache-2.0

package outage

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/slipway-k8s/slipway/test/harness"
	"github.com/slipway-k8s/slipway/test/logind"
)

// lookedAt is a process that answers probes.
type lookedAt struct {
	*harness.Process
	name, health, metrics string
	// container is its name where people install it.
	container string
}

func (l *lookedAt) flags() []string {
	return []string{"--health-probe-bind-address=" + l.health, "--metrics-bind-address=" + l.metrics}
}

// is checks that it is alive, and ready or not, and that its metrics say the same.
func (l *lookedAt) is(t *testing.T, ready bool) {
	t.Helper()
	if code, text := harness.Get(t, l.health, "/healthz?verbose"); code != http.StatusOK {
		t.Errorf("the liveness of the %s is %d: %s", l.name, code, text)
	}
	want, value := http.StatusOK, 1
	if !ready {
		want, value = http.StatusInternalServerError, 0
	}
	if code, text := harness.Get(t, l.health, "/readyz?verbose"); code != want {
		t.Errorf("the readiness of the %s is %d, want %d: %s", l.name, code, want, text)
	}
	_, text := harness.Get(t, l.metrics, "/metrics")
	if line := fmt.Sprintf("slipway_health_check{check=\"api-server\",probe=\"readiness\"} %d\n", value); !strings.Contains(text, line) {
		t.Errorf("the metrics of the %s do not have: %s", l.name, line)
	}
	if line := "slipway_drain_pods_evicted_total 0\n"; l.container != host && !strings.Contains(text, line) {
		t.Errorf("the metrics of the %s do not have: %s", l.name, line)
	}
}

// waits checks that it is alive, and not ready, while it waits for the API server to answer at all.
func (l *lookedAt) waits(t *testing.T) {
	t.Helper()
	if code, text := harness.Get(t, l.health, "/healthz"); code != http.StatusOK {
		t.Errorf("the liveness of the %s is %d: %s", l.name, code, text)
	}
	if code, text := harness.Get(t, l.health, "/readyz"); code != http.StatusInternalServerError {
		t.Errorf("the readiness of the %s is %d: %s", l.name, code, text)
	}
}

// host is the container that drains nothing.
const host = "slipway-host"

// probed are the paths that kubelets ask for, by the container that people install.
func probed(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, manifest := range []string{"install.yaml", "install-central.yaml", "install-host.yaml"} {
		content, err := os.ReadFile(harness.File(t, "config", manifest))
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(content), "\n---\n") {
			var workload appsv1.DaemonSet // a Deployment has the same pods
			if err := yaml.Unmarshal([]byte(document), &workload); err != nil || !slices.Contains([]string{"DaemonSet", "Deployment"}, workload.Kind) {
				continue
			}
			for _, c := range workload.Spec.Template.Spec.Containers {
				for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
					if probe != nil {
						found[c.Name] = append(found[c.Name], probe.HTTPGet.Path)
					}
				}
			}
		}
	}
	return found
}

// answers wants that a kubelet that asks as the manifests say lets the process live, and has it
// Ready.
func (l *lookedAt) answers(t *testing.T, paths []string) {
	t.Helper()
	for _, path := range paths {
		if code, text := harness.Get(t, l.health, path); code != http.StatusOK {
			t.Errorf("a probe of the %s at %s is answered with %d: %s", l.name, path, code, text)
		}
	}
}

func TestWithoutTheAPIServerProcessesAreUnreadyAndNotDead(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, harness.Options{})
	look := func(name string) *lookedAt {
		return &lookedAt{name: name, health: harness.FreeAddress(t), metrics: harness.FreeAddress(t)}
	}
	agent, driver, others := look("agent"), look("driver"), look("agent without a driver of its own")
	holder := look("holder of a machine")
	controller, standby, alone := look("leader"), look("standby"), look("controller that works alone")

	node := env.Node(t, "probed")
	agent.Process = node.Agent("", agent.flags()...)
	apart := env.Node(t, "apart")
	others.Process = apart.Agent("", append(others.flags(), "--builtin-drivers=")...)
	others.AwaitLog("The caches are filled")
	others.is(t, true) // a driver is still to come
	driver.Process = apart.Driver("", driver.flags()...)
	driver.AwaitLog("Registered with the agent")
	agent.AwaitLog("Serving")
	controller.Process = env.Controller(t, "leader", "", controller.flags()...)
	controller.AwaitLog("Leading")
	standby.Process = env.Controller(t, "standby", "", standby.flags()...)
	standby.AwaitStandby()
	for l, leading := range map[*lookedAt]string{controller: "slipway_controller_leading 1\n", standby: "slipway_controller_leading 0\n"} {
		l.AwaitLog("The caches are filled")
		l.is(t, true)
		if _, text := harness.Get(t, l.metrics, "/metrics"); !strings.Contains(text, leading) {
			t.Errorf("the metrics of the %s do not have: %s", l.name, leading)
		}
		l.Kill()
	}
	// A leader ends when it cannot renew its lease.
	alone.Process = env.Controller(t, "alone", "", append(alone.flags(), "--leader-elect=false", "--builtin-drivers=drain")...)
	alone.AwaitLog("Serving")

	// These begin in the outage, with the credentials of those that were there before.
	later := env.Node(t, "later")
	late, lateDriver, lateController := look("agent that begins"), look("driver that begins"), look("controller that begins")
	late.Process = later.Agent("", append(late.flags(), "--builtin-drivers=")...)
	lateDriver.Process = later.Driver("", lateDriver.flags()...)
	lateController.Process = env.Controller(t, "late", "", lateController.flags()...)
	begin := []*lookedAt{late, lateDriver, lateController}
	for _, l := range begin {
		l.AwaitLog("The caches are filled")
		l.Kill()
	}

	all := []*lookedAt{agent, driver, others, alone}
	agent.container, alone.container, holder.container = "node-agent", "controller", host
	paths := probed(t)
	if missing := logind.Missing(); missing == "" {
		env.Hosts(t)
		holder.Process = node.Host(logind.Start(t, time.Hour).Socket, holder.flags()...)
		holder.AwaitLog("Took a lock of logind")
		all = append(all, holder)
	} else {
		t.Logf("slipway-host is not looked at: %s", missing)
		delete(paths, host)
	}
	for _, l := range all {
		l.AwaitLog("The caches are filled")
		l.is(t, true)
		l.answers(t, paths[l.container])
		delete(paths, l.container)
	}
	if len(paths) > 0 {
		t.Errorf("nobody has asked the containers %v", paths)
	}
	env.Outage(t, "kube-apiserver", 0, func() {
		for _, l := range all {
			if l != driver { // at rest it asks for nothing, and sees nothing
				l.AwaitLog("The API server does not answer")
				l.is(t, false)
			}
		}
		driver.is(t, true)
		for _, l := range begin {
			l.Process = l.Again()
			l.AwaitLog("The API server does not answer yet")
			l.waits(t)
		}
	})
	for _, l := range begin {
		l.AwaitLog("The caches are filled")
	}
	for _, l := range all {
		if l != driver { // an API server that has just begun answers, and then with 503 once more
			l.AwaitLast("The API server answers again", "The API server does not answer;")
		}
		l.is(t, true)
	}
}
