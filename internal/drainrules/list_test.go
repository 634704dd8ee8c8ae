// SPDX-License-Identifier: Apache-2.0

package drainrules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
)

func TestAListingSaysWhatAWatchWould(t *testing.T) {
	s, reader := newServer(t)
	s.add(t, "shop", "a", `{podSelector: {}, behavior: Skip}`)
	s.add(t, "own", "hers", `{podSelector: {}, namespaceSelector: {matchLabels: {team: a}}, behavior: Evict, deadline: 1h}`)
	s.add(t, "bad", "b", `{podSelector: {}, behavior: Teleport}`)
	listing, err := reader.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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

func TestAListingIsEmptyWhereDrainRulesAreNotInstalled(t *testing.T) {
	s, reader := newServer(t)
	s.status[rulesPath] = 404
	listing, err := reader.List(t.Context())
	if err != nil || inWords(listing.For("shop", nil)) != nil {
		t.Errorf("rules %v, error %v", inWords(listing.For("shop", nil)), err)
	}
}

func TestAListingThatIsRefusedIsAnError(t *testing.T) {
	s, reader := newServer(t)
	s.status[rulesPath] = 403
	if _, err := reader.List(t.Context()); err == nil || err.Error() != "list DrainRules: no" {
		t.Errorf("error %v", err)
	}
}
