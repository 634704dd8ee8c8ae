// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
)

// Whatever a DrainRule says, also one that the server would refuse: either it is said which
// of its fields cannot be understood, and it is about all pods that it may be about; or it has
// a behavior that drains know, and says the same when it is written anew.
func FuzzRule(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"podSelector":{},"behavior":"Skip"}`,
		`{"podSelector":{"matchLabels":{"app":"web"}},"behavior":"Evict","order":-5,"deadline":"1h"}`,
		`{"podSelector":{"matchExpressions":[{"key":"k","operator":"In","values":["v"]}]},"namespaceSelector":{},"behavior":"WaitCompleted"}`,
		`{"podSelector":{"matchExpressions":[{"key":"k","operator":"Around"}]},"behavior":"Evict"}`,
		`{"namespaceSelector":{"matchLabels":{"a b":"c"}},"behavior":"Evict"}`,
		`{"podSelector":{},"behavior":"Teleport"}`,
		`{"podSelector":{},"nodeSelector":{"matchLabels":{"pool":"edge"}},"behavior":"Skip"}`,
	} {
		f.Add([]byte(seed))
	}
	read := func(spec slipwayv1alpha1.DrainRuleSpec, own string) *rule {
		from := &slipwayv1alpha1.DrainRule{Spec: spec}
		from.Namespace, from.Name = "shop", "r"
		return toRule(logr.Discard(), from, own)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var spec slipwayv1alpha1.DrainRuleSpec
		if json.Unmarshal(raw, &spec) != nil {
			return
		}
		if got := read(spec, "another"); got.ignored != (spec.NamespaceSelector != nil) {
			t.Errorf("in a namespace of its own, it is ignored: %v", got.ignored)
		}
		got := read(spec, "shop")
		if got.problem != nil {
			if !errors.Is(got.problem, drain.ErrBadRule) || !strings.Contains(got.problem.Error(), "DrainRule shop/r: spec.") {
				t.Errorf("the problem names no field: %v", got.problem)
			}
			if got.ignored || got.Pods == nil || got.Cluster && got.namespaces == nil {
				t.Errorf("it does not count: %+v", got)
			}
			return
		}
		if b := got.Behavior; b != drain.Evict && b != drain.Skip && b != drain.WaitCompleted {
			t.Errorf("no drain knows behavior %q", b)
		}
		written, err := json.Marshal(spec)
		if err != nil {
			t.Fatal(err)
		}
		var same slipwayv1alpha1.DrainRuleSpec
		if err := json.Unmarshal(written, &same); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		again := read(same, "shop")
		if again.problem != nil || again.Pods.String() != got.Pods.String() || again.Behavior != got.Behavior ||
			again.Order != got.Order || again.Deadline != got.Deadline || again.Cluster != got.Cluster || fmt.Sprint(again.Nodes) != fmt.Sprint(got.Nodes) || again.needsLabels() != got.needsLabels() {
			t.Errorf("%s says\n%+v; written anew, as %s\n%+v", raw, got, written, again)
		}
	})
}
