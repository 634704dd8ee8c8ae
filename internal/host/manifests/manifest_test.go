// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

// signed is a text as the journal has it.
func signed(text string) []byte {
	return fmt.Appendf(nil, "%x\n%s\n", sha256.Sum256([]byte(text)), text)
}

func TestWhatIsAManifest(t *testing.T) {
	for name, tc := range map[string]struct {
		content      string
		want         string
		controlPlane bool
	}{
		"YAML":                {manifest("proxy"), "kube-system/proxy-w1", false},
		"JSON":                {`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "a"}}`, "a/p-w1", false},
		"without a namespace": {"apiVersion: v1\nkind: Pod\nmetadata: {name: p}", "default/p-w1", false},
		"as kubeadm writes it": {
			"apiVersion: v1\nkind: Pod\nmetadata:\n  labels: {component: etcd, tier: control-plane}\n  name: etcd\n  namespace: kube-system",
			"kube-system/etcd-w1", true,
		},
		"labelled as a component":       {"apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {component: kube-scheduler}}", "default/p-w1", true},
		"labelled as the control plane": {"apiVersion: v1\nkind: Pod\nmetadata: {name: vip, labels: {tier: control-plane}}", "default/vip-w1", true},
		"labelled as something else":    {"apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {component: web, tier: front}}", "default/p-w1", false},
		"of another kind":               {"apiVersion: v1\nkind: PodTemplate\nmetadata: {name: p}", "", false},
		"of another version":            {"apiVersion: v2\nkind: Pod\nmetadata: {name: p}", "", false},
		"without a name":                {"apiVersion: v1\nkind: Pod\nmetadata: {generateName: p}", "", false},
		"nothing":                       {"", "", false},
		"nonsense":                      {"{", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			got, controlPlane, err := podOf([]byte(tc.content), nodeName)
			if got != tc.want || controlPlane != tc.controlPlane || (err == nil) != (tc.want != "") {
				t.Errorf("%q, of the control plane: %v, %v", got, controlPlane, err)
			}
		})
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(manifest("proxy")))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, content []byte) {
		key, _, err := podOf(content, nodeName)
		if (key == "") != (err != nil) || key != "" && !strings.Contains(key, "/") {
			t.Errorf("%q, %v", key, err)
		}
	})
}

// What a kubelet does not look at is not listed; what it could not read is, without a pod.
func TestWhatIsInAFolder(t *testing.T) {
	s := newScene(t, t.TempDir(), "a")
	s.put(".hidden.yaml", manifest("hidden"))
	s.put("odd", "nonsense")
	s.put("long.yaml", strings.Repeat("#", maxManifest+1))
	for _, err := range []error{
		os.Mkdir(filepath.Join(s.dir, "folder"), 0o700),
		os.Symlink(filepath.Join(s.dir, "a.yaml"), filepath.Join(s.dir, "link.yaml")),
		os.Symlink("nowhere", filepath.Join(s.dir, "lost.yaml")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := list(s.dir, nodeName)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].Sum = ""
	}
	want := []staticpod.Manifest{
		{File: "a.yaml", Pod: "kube-system/a-w1"},
		{File: "link.yaml", Pod: "kube-system/a-w1"},
		{File: "long.yaml", Trouble: "it is longer than 10485760 bytes"},
		{File: "lost.yaml", Trouble: "no such file or directory"},
		{File: "odd", Trouble: "it is not the manifest of a pod"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
