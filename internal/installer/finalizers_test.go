// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

func TestOnlyFinalizersThatAreOursOrWereAgreedToAreTakenOff(t *testing.T) {
	const ours, audit, late = lifecyclev1alpha1.ClaimProtectionFinalizer, "example.com/audit", "example.com/late"
	for name, tc := range map[string]struct{ has, agreed, stay []string }{
		"ours alone":                      {[]string{ours}, nil, nil},
		"somebody holds it":               {[]string{audit, ours}, nil, []string{audit}},
		"its loss was agreed to":          {[]string{ours, audit}, []string{audit}, nil},
		"another one has come since then": {[]string{ours, audit, late}, []string{audit}, []string{late}},
		"none":                            {nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.stay, withoutOurs(tc.has, tc.agreed), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
