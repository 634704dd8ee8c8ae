// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"io/fs"
	"path/filepath"

	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
)

// NodePrograms are what a real node runs that comes from no package of the system.
type NodePrograms struct {
	// Kubelet is Kubernetes' own, of the control plane's version.
	Kubelet string
	// Pause is a static program, for the container that holds a pod's namespaces.
	Pause string
}

// EnsureNode returns the programs of a real node, and builds them first unless the
// cache has them.
func EnsureNode(ctx context.Context, cache string, source fs.FS, report *progress.Reporter) (*NodePrograms, error) {
	entry, err := ensure(ctx, cache, source, nodePrograms, report)
	if err != nil {
		return nil, err
	}
	return &NodePrograms{
		Kubelet: filepath.Join(entry.binaries(), "kubelet"), Pause: filepath.Join(entry.binaries(), "pause"),
	}, nil
}
