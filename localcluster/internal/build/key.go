// SPDX-License-Identifier: Apache-2.0

// Package build compiles the control plane, once: the binary is kept in a cache
// directory under a key that changes when its source does. The kubelet of real nodes
// has an entry of its own, made when the first real node is asked for.
//
//	CACHE/KEY/src/                go.mod, go.sum and source, as compiled
//	CACHE/KEY/bin/controlplane    the binary
//	CACHE/KEY/bin/etcd …          links to it, one for each component
//	CACHE/KEY/stages/             what tells kwok how nodes and pods behave
//
//	CACHE/OTHER/bin/kubelet       the kubelet
//	CACHE/OTHER/bin/pause         what holds a pod's namespaces
package build

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
)

// recipe is part of the key: it changes when the way of building does.
const recipe = "2: stripped"

// Key names the binary that is built from this source on this kind of machine.
func Key(source fs.FS) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, recipe, runtime.GOOS, runtime.GOARCH)
	err := fs.WalkDir(source, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(source, path)
		if err != nil {
			return err
		}
		// With the length, no two sets of files look the same in a row.
		fmt.Fprintln(sum, path, len(content))
		_, err = sum.Write(content)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("hash the source of the control plane: %w", err)
	}
	const length = 16
	return hex.EncodeToString(sum.Sum(nil))[:length], nil
}

var errNoVersion = errors.New("go.mod does not require k8s.io/kubernetes")

// KubernetesVersion reads from go.mod which Kubernetes is built.
func KubernetesVersion(source fs.FS) (string, error) {
	content, err := fs.ReadFile(source, "go.mod")
	if err != nil {
		return "", fmt.Errorf("read the version of Kubernetes: %w", err)
	}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == "k8s.io/kubernetes" {
			return fields[1], nil
		}
	}
	return "", errNoVersion
}

// linkerFlags stamp the version into the binary: without them, every component
// and the API itself would say v0.0.0.
func linkerFlags(version string) string {
	const variables = "k8s.io/component-base/version."
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	flags := []string{"-s", "-w"}
	for _, assignment := range []string{
		"gitVersion=" + version, "gitMajor=" + major, "gitMinor=" + minor, "gitTreeState=archive",
	} {
		flags = append(flags, "-X", variables+assignment)
	}
	return strings.Join(flags, " ")
}
