// SPDX-License-Identifier: Apache-2.0

package update

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/slipway-k8s/slipway/test/harness"
)

// older is the path of a manifest of an older version: with another image, and before
// events had spec.reason.
func older(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(harness.File(t, manifest))
	if err != nil {
		t.Fatal(err)
	}
	const separator = "\n---\n"
	documents := strings.Split(string(text), separator)
	dropped := 0
	for i, document := range documents {
		documents[i] = strings.ReplaceAll(document, `slipway:0.1.0"`, `slipway:0.0.9"`)
		if strings.Contains(document, "\n  name: lifecycleevents.lifecycle.k8s.io\n") {
			documents[i] = withoutReason(t, document)
			dropped++
		}
	}
	if dropped != 1 || !strings.Contains(strings.Join(documents, separator), "slipway:0.0.9") {
		t.Fatalf("%s is not as this test knows it", manifest)
	}
	path := filepath.Join(t.TempDir(), "older.yaml")
	if err := os.WriteFile(path, []byte(strings.Join(documents, separator)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// withoutReason is the CRD of events without a field.
func withoutReason(t *testing.T, document string) string {
	t.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal([]byte(document), &crd); err != nil {
		t.Fatal(err)
	}
	fields := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	if _, ok := fields["reason"]; !ok {
		t.Fatal("events have no spec.reason")
	}
	delete(fields, "reason")
	text, err := json.Marshal(crd)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
