// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

func testNode(dir string) Node {
	return Node{
		Node: state.Node{Name: "real-1", Cgroup: "localcluster-x", Kubelet: "/cache/kubelet"},
		Settings: component.Settings{
			Dir: state.Dir(dir), Config: state.Config{FeatureGates: map[string]string{"A": "true", "B": "false"}},
			Ports: map[string]int{component.APIServer: 1, "kubelet@real-1": 2, "kubelet-health@real-1": 3},
		},
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
	kubelet := n.kubeletSettings()
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
	settings := encode(testNode("/c").kubeletSettings())
	var kubelet struct {
		Address, HealthzBindAddress string
		Port, HealthzPort           int
		FeatureGates                map[string]bool
		Authentication              struct{ Anonymous struct{ Enabled *bool } }
	}
	if err := json.Unmarshal(settings, &kubelet); err != nil {
		t.Fatal(err)
	}
	if kubelet.Address != "198.18.0.1" || kubelet.Port != 2 || kubelet.HealthzBindAddress != "127.0.0.1" || kubelet.HealthzPort != 3 {
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
	if err := restoreKernel(map[string]int{"kernel/no-such-setting": 1}); err == nil {
		t.Error("a setting that there is not was set")
	}
}

// archived returns the files of an archive.
func archived(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	for reader := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if found[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnImageIsOfItsProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(program, []byte("machine code"), 0o600); err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := writeImage(out, program, "local.test/p:1"); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same program gives two images")
	}
	found := archived(t, first.Bytes())
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(found["manifest.json"], &manifest); err != nil || len(manifest) != 1 {
		t.Fatalf("manifest %s: %v", found["manifest.json"], err)
	}
	if manifest[0].RepoTags[0] != "local.test/p:1" {
		t.Errorf("the image is called %v", manifest[0].RepoTags)
	}
	layer := found[manifest[0].Layers[0]]
	var config struct {
		Config struct{ Entrypoint []string }
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := json.Unmarshal(found[manifest[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	// A runtime refuses a layer that is not the one that the configuration names.
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256(layer)); config.RootFS.DiffIDs[0] != want {
		t.Errorf("the layer is %s, and the configuration names %v", want, config.RootFS.DiffIDs)
	}
	inside := archived(t, layer)
	if _, hasTmp := inside["tmp/"]; !hasTmp || string(inside[config.Config.Entrypoint[0][1:]]) != "machine code" {
		t.Errorf("the layer has %v, not the program at %v and tmp", inside, config.Config.Entrypoint)
	}
}

func TestAnImageOfNothingIsRefused(t *testing.T) {
	if err := writeImage(io.Discard, filepath.Join(t.TempDir(), "absent"), "x:1"); err == nil {
		t.Error("no error")
	}
}
