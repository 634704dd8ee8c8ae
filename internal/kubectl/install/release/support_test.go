// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestAServerThatIsTooOldIsRefusedWithWhatWorks(t *testing.T) {
	for name, tc := range map[string]struct {
		version string
		mode    Mode
		reduced bool
		want    string // empty: it works
		mutates bool
		host    bool
	}{
		"1.37":                             {"v1.37.1", Node, false, "", true, false},
		"1.36, of a vendor":                {"v1.36.2-gke.100", Node, false, "", true, false},
		"1.36, reduced all the same":       {"v1.36.0", Node, true, "", true, false},
		"1.35":                             {"v1.35.4", Node, false, "--reduced", false, false},
		"1.35, reduced":                    {"v1.35.4", Node, true, "", false, false},
		"1.34, central":                    {"v1.34.0", Central, false, "", false, false},
		"1.33":                             {"v1.33.9", Central, false, "needs 1.34 or newer", false, false},
		"agents' rights without any agent": {"v1.37.1", Central, true, "leave one of the two out", true, false},
		"1.36, with hosts":                 {"v1.36.0", Node, false, "", true, true},
		"central, with hosts":              {"v1.37.1", Central, false, "", true, true},
		"1.35, central, with hosts":        {"v1.35.4", Central, false, "--host needs Kubernetes 1.36", false, true},
		"reduced, with hosts":              {"v1.37.1", Node, true, "--host needs constrained impersonation", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			server, err := ServerOf(tc.version)
			if err != nil {
				t.Fatal(err)
			}
			if server.Mutates != tc.mutates {
				t.Errorf("it mutates: %t; want %t", server.Mutates, tc.mutates)
			}
			err = server.Refuse(Choice{Mode: tc.mode, Reduced: tc.reduced, Host: tc.host})
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("got %v; want %q", err, tc.want)
			}
		})
	}
}

func workload(image string, args ...string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: image, Args: args}}}}
}

func TestAnInstallationIsReadOffItsWorkloads(t *testing.T) {
	deployment := func(image string, args ...string) *appsv1.Deployment {
		d := &appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: workload(image, args...)}}
		d.Namespace = Namespace
		return d
	}
	daemonSet := func(image string, args ...string) *appsv1.DaemonSet {
		return &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: workload(image, args...)}}
	}
	for name, tc := range map[string]struct {
		controller *appsv1.Deployment
		agents     *appsv1.DaemonSet
		want       Installed
	}{
		"agents": {
			deployment("s:1"), daemonSet("s:1", "--act-as=node"),
			Installed{Namespace: Namespace, Image: "s:1", Mode: Node},
		},
		"the default mode": {deployment("s:1"), nil, Installed{Namespace: Namespace, Image: "s:1", Mode: Node}},
		"the reduced variant, in the middle of an upgrade": {
			deployment("s:2"), daemonSet("s:1", "--act-as=self"),
			Installed{Namespace: Namespace, Image: "s:2", AgentImage: "s:1", Mode: Node, Reduced: true},
		},
		"central, by the former flag": {deployment("s:1", "--claim-mode=node", "--claim-mode=central"), nil, Installed{Namespace: Namespace, Image: "s:1", Mode: Central}},
		"central":                     {deployment("s:1", "--builtin-drivers=drain"), nil, Installed{Namespace: Namespace, Image: "s:1", Mode: Central}},
	} {
		t.Run(name, func(t *testing.T) {
			got := InstalledBy(tc.controller, tc.agents)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if err := got.Refuse(tc.want.Mode); err != nil {
				t.Errorf("the same mode is refused: %v", err)
			}
			other := Central
			if tc.want.Mode == Central {
				other = Node
			}
			if err := got.Refuse(other); err == nil || !strings.Contains(err.Error(), "uninstall") {
				t.Errorf("another mode: %v", err)
			}
		})
	}
}
