// SPDX-License-Identifier: Apache-2.0

package release

import (
	"strings"
	"testing"
)

func TestAnInstallationInAnotherNamespaceIsLeftAlone(t *testing.T) {
	if err := (Installed{Namespace: Namespace}).Elsewhere(); err != nil {
		t.Errorf("that of the plain manifests: %v", err)
	}
	err := Installed{Namespace: "infra"}.Elsewhere()
	if err == nil || !strings.Contains(err.Error(), "namespace infra") {
		t.Errorf("that of a chart in namespace infra: %v", err)
	}
}
