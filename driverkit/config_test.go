// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

func transition(name, driver string) lifecyclev1alpha1.LifecycleTransition {
	allNodes := true
	return lifecyclev1alpha1.LifecycleTransition{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       lifecyclev1alpha1.LifecycleTransitionSpec{Start: "s", End: "e", Driver: driver, AllNodes: &allNodes},
	}
}

func TestConfigValidate(t *testing.T) {
	cases := map[string]struct {
		config Config
		want   string // the error, without the lines that come before
	}{
		"the least there can be":       {Config{DriverName: "d", NodeName: "n"}, ""},
		"a domain and a slash":         {Config{DriverName: "example.com/reboot", NodeName: "n"}, ""},
		"all nodes":                    {Config{DriverName: "d", AnyNode: true}, ""},
		"all nodes and one":            {Config{DriverName: "d", NodeName: "n", AnyNode: true}, `NodeName: "n" must be empty with AnyNode`},
		"nothing":                      {Config{}, "DriverName: is required\nNodeName: is required"},
		"a name with underscores":      {Config{DriverName: "example.com/server_side_drain", NodeName: "n"}, ""},
		"a name that climbs":           {Config{DriverName: "../d", NodeName: "n"}, `DriverName: "../d" must be lower case letters, digits, '-', '_' and '.', with at most one '/' inside`},
		"a name that is a path":        {Config{DriverName: "a/b/c", NodeName: "n"}, `DriverName: "a/b/c" must be lower case letters, digits, '-', '_' and '.', with at most one '/' inside`},
		"a name that is too long":      {Config{DriverName: strings.Repeat("a", 254), NodeName: "n"}, "DriverName: has 254 characters, at most 253 are allowed"},
		"an instance that is a path":   {Config{DriverName: "d", NodeName: "n", Instance: "../x"}, `Instance: "../x" must be at most 63 letters, digits, '-' and '.'`},
		"a data directory of nowhere":  {Config{DriverName: "d", NodeName: "n", DataDir: "x"}, `DataDir: "x" must be an absolute path`},
		"a registration dir likewise":  {Config{DriverName: "d", NodeName: "n", RegistrationDir: "x"}, `RegistrationDir: "x" must be an absolute path`},
		"a transition of one's own":    {withTransitions(transition("t", ""), transition("u", "d")), ""},
		"a transition of another's":    {withTransitions(transition("t", "other")), `Transitions[0].spec.driver: "other" must be empty or DriverName, "d"`},
		"transitions without names":    {withTransitions(transition("t", ""), transition("", "")), "Transitions[1].metadata.name: is required"},
		"transitions of the same name": {withTransitions(transition("t", ""), transition("t", "")), `Transitions[1].metadata.name: "t" is a duplicate`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := tc.config.Validate(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("error (-want +got):\n%s", diff)
			}
		})
	}
}

func withTransitions(transitions ...lifecyclev1alpha1.LifecycleTransition) Config {
	return Config{DriverName: "d", NodeName: "n", Transitions: transitions}
}

func TestSocketPaths(t *testing.T) {
	long := strings.Repeat("a", 253)
	cases := map[string]struct {
		config Config
		want   socketPaths
	}{
		"defaults": {
			Config{DriverName: "drain.slm.k8s.io"},
			socketPaths{
				driver:       "/var/lib/slipway/plugins/drain.slm.k8s.io/slm.sock",
				registration: "/var/lib/slipway/plugins_registry/drain.slm.k8s.io/reg.sock",
			},
		},
		"a slash and an instance": {
			Config{DriverName: "example.com/reboot", Instance: "7"},
			socketPaths{
				driver:       "/var/lib/slipway/plugins/example.com~reboot/slm-7.sock",
				registration: "/var/lib/slipway/plugins_registry/example.com~reboot/reg-7.sock",
			},
		},
		"the longest name": {
			Config{DriverName: long},
			socketPaths{
				driver:       "/var/lib/slipway/plugins/32859a3ab65ac529/slm.sock",
				registration: "/var/lib/slipway/plugins_registry/32859a3ab65ac529-reg.sock",
			},
		},
		"the longest name and an instance": {
			Config{DriverName: long, Instance: "7"},
			socketPaths{
				driver:       "/var/lib/slipway/plugins/32859a3ab65ac529/slm" + hash("-7") + ".sock",
				registration: "/var/lib/slipway/plugins_registry/32859a3ab65ac529" + hash("-7") + "-reg.sock",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := tc.config.withDefaults().socketPaths()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(socketPaths{}), cmpopts.IgnoreFields(socketPaths{}, "ofInstances")); diff != "" {
				t.Errorf("paths (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSocketPathsTooLong(t *testing.T) {
	deep := "/" + strings.Repeat("d", 100)
	for name, tc := range map[string]struct {
		config Config
		want   string
	}{
		"the data directory":         {Config{DriverName: "d", DataDir: deep}, "DataDir (--datadir): "},
		"the registration directory": {Config{DriverName: "d", RegistrationDir: deep}, "RegistrationDir (--plugin-registration-path): "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tc.config.withDefaults().socketPaths()
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) {
				t.Errorf("error is %v, want it to begin with %q", err, tc.want)
			}
		})
	}
}

// The longest path that is let through must be one that the kernel takes.
func TestLongestSocketPath(t *testing.T) {
	dir := tempDir(t)
	path := filepath.Join(dir, strings.Repeat("s", maxSocketPath-len(dir)-1))
	s, err := listen(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	if !s.inPlace() {
		t.Error("the socket is not in its place")
	}
	if err := s.unlink(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if exists(t, path) {
		t.Error("the socket is still there")
	}
}
