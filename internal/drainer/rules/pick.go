// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/slipway-k8s/slipway/drain"
)

// saying is what a follower is told. Of two with the same key, the second need not be
// told.
type saying struct {
	rules []drain.Rule
	err   error
	key   string
}

func failed(err error) *saying { return &saying{err: err, key: "failed: " + err.Error()} }

// pick is what is to be said of the rules about a namespace with these labels.
func pick(all []*rule, namespace string, set labels.Set) *saying {
	all = slices.SortedFunc(slices.Values(all), func(a, b *rule) int { return cmp.Compare(a.Name, b.Name) })
	s := &saying{}
	for _, r := range all {
		if !r.isAbout(namespace, set) {
			continue
		}
		if r.problem != nil {
			return failed(r.problem)
		}
		s.rules = append(s.rules, r.Rule)
		s.key += r.Name + "@" + r.version + "\n"
	}
	return s
}
