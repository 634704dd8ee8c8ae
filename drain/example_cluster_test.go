// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"path/filepath"
	"testing"
)

// The example is what others copy, so it is run as it stands.
func TestTheExampleDrainsANode(t *testing.T) {
	s := newScene(t, 0)
	const node = "worker-1"
	pods := []string{"a", "b"}
	for _, name := range pods {
		s.pod(node, name)
	}
	s.cordon(node)
	t.Setenv("KUBECONFIG", filepath.Join(s.dir, "kubeconfig"))

	ExampleDrainer_Drain()
	for _, name := range pods {
		if s.getPod(name) != nil {
			t.Errorf("pod %s is still there", name)
		}
	}
}
