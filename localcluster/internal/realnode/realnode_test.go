// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"encoding/json"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/layout"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

func testNode(dir string) Node {
	return Node{
		Name:     "real-1",
		Recorded: state.Node{Name: "real-1", Network: "198.18.7", Cgroup: "localcluster-x", Kubelet: "/cache/kubelet"},
		Settings: component.Settings{
			Dir: layout.Dir(dir), Config: state.Config{FeatureGates: map[string]string{"A": "true", "B": "false"}},
			Ports: map[string]int{component.APIServer: 1, "kubelet@real-1": 2, "kubelet-health@real-1": 3},
		},
	}
}

func TestWhatIsMissingIsNamed(t *testing.T) {
	cases := map[string]struct {
		there   []string
		plugins bool
		absent  string
		install string
	}{
		"nothing":               {there: []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc", "ip"}, plugins: true},
		"all of containerd":     {there: []string{"runc", "ip"}, plugins: true, absent: "containerd containerd-shim-runc-v2 ctr", install: "containerd"},
		"the network's plugins": {there: []string{"containerd", "containerd-shim-runc-v2", "ctr", "runc", "ip"}, absent: "network plugins (host-local, loopback, ptp)", install: "containernetworking-plugins"},
		"everything":            {absent: "containerd containerd-shim-runc-v2 ctr runc ip network plugins (host-local, loopback, ptp)", install: "containerd runc iproute2 containernetworking-plugins"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			absent, install := absentPrograms(func(name string) bool { return slices.Contains(tc.there, name) }, tc.plugins)
			if strings.Join(absent, " ") != tc.absent || strings.Join(install, " ") != tc.install {
				t.Errorf("absent %q, install %q", absent, install)
			}
		})
	}
}

func TestRightsAreRead(t *testing.T) {
	cases := map[string]struct{ status, want string }{
		"all of root's":        {"Name:\tx\nCapEff:\t000001ffffffffff\nCapBnd:\t0\n", ""},
		"those of a container": {"CapEff:\t00000000a80425fb\n", "CAP_SYS_ADMIN CAP_NET_ADMIN"},
		"networks only":        {"CapEff:\t0000000000001000\n", "CAP_SYS_ADMIN"},
		"a table without them": {"Name:\tx\n", "capabilities that can be read"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := strings.Join(lackingIn(tc.status), " "); got != tc.want {
				t.Errorf("lacking %q, want %q", got, tc.want)
			}
		})
	}
}

func TestMountsBelowADirectory(t *testing.T) {
	const table = `22 1 0:20 / /proc rw shared:1 - proc proc rw
30 1 0:31 / /c/nodes/real-1/kubelet/pods/a rw - tmpfs tmpfs rw
31 1 0:32 / /c/nodes/real-1/kubelet/pods/a/in\040it rw - tmpfs tmpfs rw
32 1 0:33 / /c/nodes/real-10/kubelet rw - tmpfs tmpfs rw
`
	want := []string{"/c/nodes/real-1/kubelet/pods/a/in it", "/c/nodes/real-1/kubelet/pods/a"}
	if got := mountsBelow(table, "/c/nodes/real-1"); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestANetworkInUseIsNotPicked(t *testing.T) {
	cases := map[string]struct {
		address string
		want    bool
	}{
		"another node's":                {"198.18.7.1/32", true},
		"a network around it":           {"198.18.1.1/15", true},
		"the next one":                  {"198.18.8.1/24", false},
		"this machine's, far from here": {"192.0.2.2/24", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ip, network, err := net.ParseCIDR(tc.address)
			if err != nil {
				t.Fatal(err)
			}
			network.IP = ip
			if got := inUse("198.18.7", []net.Addr{network}); got != tc.want {
				t.Errorf("in use: %t", got)
			}
		})
	}
}

func TestWhatCtrHasLoaded(t *testing.T) {
	const output = "unpacking local.test/a:1 (sha256:12)...done\nunpacking b@sha256:34 (sha256:34)...done\nanything else\n"
	if got := loaded(output); !slices.Equal(got, []string{"local.test/a:1", "b@sha256:34"}) {
		t.Errorf("loaded %q", got)
	}
}

// A path outside of the node's directory would be left behind, or be somebody else's.
func TestAllFilesAreInTheNodesDirectory(t *testing.T) {
	n := testNode("/c")
	settings, err := n.kubeletSettings()
	if err != nil {
		t.Fatal(err)
	}
	var kubelet map[string]any
	if err := json.Unmarshal(settings, &kubelet); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"staticPodPath", "podLogsDir", "volumePluginDir", "resolvConf", "containerRuntimeEndpoint"} {
		path := strings.TrimPrefix(kubelet[key].(string), "unix://")
		if !strings.HasPrefix(path, "/c/nodes/real-1/") {
			t.Errorf("%s is %s", key, path)
		}
	}
	for line := range strings.Lines(n.containerdSettings()) {
		key, value, found := strings.Cut(strings.TrimSpace(line), " = ")
		value = strings.Trim(value, `"`)
		if found && key != "bin_dir" && strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "/c/nodes/real-1/") {
			t.Errorf("containerd's %s is %s", key, value)
		}
	}
	for _, program := range []string{Containerd, Kubelet} {
		built, _ := n.Component(program)
		for _, arg := range built.Args {
			_, value, _ := strings.Cut(arg, "=")
			if strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "/c/nodes/real-1/") {
				t.Errorf("%s: %s", program, arg)
			}
		}
	}
}

func TestTheKubeletListensOnTheNodesAddress(t *testing.T) {
	settings, err := testNode("/c").kubeletSettings()
	if err != nil {
		t.Fatal(err)
	}
	var kubelet struct {
		Address, HealthzBindAddress string
		Port, HealthzPort           int
		FeatureGates                map[string]bool
		Authentication              struct{ Anonymous struct{ Enabled *bool } }
	}
	if err := json.Unmarshal(settings, &kubelet); err != nil {
		t.Fatal(err)
	}
	if kubelet.Address != "198.18.7.1" || kubelet.Port != 2 || kubelet.HealthzBindAddress != "127.0.0.1" || kubelet.HealthzPort != 3 {
		t.Errorf("it listens elsewhere: %+v", kubelet)
	}
	if kubelet.Authentication.Anonymous.Enabled == nil || *kubelet.Authentication.Anonymous.Enabled {
		t.Error("it answers anybody")
	}
	if !kubelet.FeatureGates["A"] || kubelet.FeatureGates["B"] {
		t.Errorf("the cluster's feature gates are %v", kubelet.FeatureGates)
	}
}

func TestALongPathIsRefused(t *testing.T) {
	if err := testNode("/tmp/c").checkPaths(); err != nil {
		t.Error(err)
	}
	if err := testNode("/tmp/" + strings.Repeat("c", 60)).checkPaths(); !errors.Is(err, errLongPath) {
		t.Errorf("got %v", err)
	}
}

func TestTheKernelsSettingsComeBack(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may set them")
	}
	before := KernelSettings()
	if err := restoreKernel(before); err != nil {
		t.Errorf("nothing has changed, and yet: %v", err)
	}
	if err := restoreKernel(map[string]string{"kernel/no-such-setting": "1"}); err == nil {
		t.Error("a setting that there is not was set")
	}
}
