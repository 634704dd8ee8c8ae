// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func TestAListingSaysWhatAWatchWould(t *testing.T) {
	listing := Listed([]slipwayv1alpha1.DrainRule{
		*ruleOf(t, "shop", "a", `{podSelector: {}, behavior: Skip}`),
		*ruleOf(t, "own", "hers", `{podSelector: {}, namespaceSelector: {matchLabels: {team: a}}, behavior: Evict, deadline: 1h}`),
		*ruleOf(t, "bad", "b", `{podSelector: {}, behavior: Teleport}`),
	}, "own")
	const hers = "cluster own/hers: Evict  order 0 deadline 1h0m0s"
	for namespace, tc := range map[string]struct {
		set  labels.Set
		want []string
	}{
		"shop":  {labels.Set{"team": "a"}, []string{hers, "own shop/a: Skip  order 0 deadline 0s"}},
		"other": {nil, nil},
		"bad":   {nil, []string{`error: bad rule: DrainRule bad/b: spec.behavior: "Teleport" is not known here`}},
	} {
		if diff := cmp.Diff(tc.want, inWords(listing.For(namespace, tc.set))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", namespace, diff)
		}
	}
}
