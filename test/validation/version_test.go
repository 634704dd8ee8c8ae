// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What judges here is what runs there.
func TestItIsTheKubernetesOfTheLocalCluster(t *testing.T) {
	here, there := kubernetesOf(t, "go.mod"), kubernetesOf(t, filepath.Join("..", "..", "localcluster", "go.mod"))
	if here != there {
		t.Errorf("here it is Kubernetes %s, in localcluster %s", here, there)
	}
}

func kubernetesOf(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "k8s.io/kubernetes" {
			return fields[1]
		}
	}
	t.Fatalf("%s requires no k8s.io/kubernetes", file)
	return ""
}
