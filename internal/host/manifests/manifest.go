// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

// maxManifest is how long a manifest is at most, for a kubelet.
const maxManifest = 10 << 20

var errNoPod = errors.New("it is not the manifest of a pod")

// list reads the files of a folder that a kubelet would, by name.
func list(folder, nodeName string) ([]staticpod.Manifest, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read folder %s: %w", folder, cause(err))
	}
	var all []staticpod.Manifest
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		// What a link leads to counts, and what leads nowhere is there as well.
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			continue
		}
		all = append(all, manifestOf(path, nodeName))
	}
	return all, nil
}

// manifestOf reads one file.
func manifestOf(path, nodeName string) staticpod.Manifest {
	m := staticpod.Manifest{File: filepath.Base(path)}
	content, err := readAtMost(path, maxManifest)
	if err == nil {
		m.Sum = fmt.Sprintf("%x", sha256.Sum256(content))
		m.Pod, m.ControlPlane, err = podOf(content, nodeName)
	}
	if err != nil {
		m.Trouble = cause(err).Error()
	}
	return m
}

func readAtMost(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("it is longer than %d bytes", limit)
	}
	return content, errors.Join(err, file.Close())
}

// podOf is the mirror pod that the kubelet of a node makes of a manifest, and whether it is of
// the control plane.
func podOf(content []byte, nodeName string) (key string, controlPlane bool, err error) {
	text, err := yaml.ToJSON(content)
	if err != nil {
		return "", false, errNoPod
	}
	var pod metav1.PartialObjectMetadata
	if err := json.Unmarshal(text, &pod); err != nil || pod.Kind != "Pod" || pod.APIVersion != "v1" || pod.Name == "" {
		return "", false, errNoPod
	}
	if pod.Namespace == "" {
		pod.Namespace = metav1.NamespaceDefault
	}
	return fmt.Sprintf("%s/%s-%s", pod.Namespace, pod.Name, strings.ToLower(nodeName)), staticpod.IsControlPlane(pod.Name, pod.Labels), nil
}
