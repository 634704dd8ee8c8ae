// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNamesAreValidAndTellNodesApart(t *testing.T) {
	long := strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "." + strings.Repeat("d", 60)
	seen := map[string]bool{}
	for _, node := range []string{"one", "one.example.com", "one-return", long, long[:len(long)-1] + "e"} {
		for _, name := range []string{DrainName(node), ReturnName(node), JobName(node, "u", 0), JobName(node, "u", 1), JobName(node, "v", 0)} {
			if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
				t.Errorf("%s: %v", name, problems)
			}
			if seen[name] {
				t.Errorf("%s is there twice", name)
			}
			seen[name] = true
		}
		if problems := validation.IsDNS1123Label(JobName(node, "u", 0)); len(problems) > 0 {
			t.Errorf("a pod cannot be named after Job %s: %v", JobName(node, "u", 0), problems)
		}
		if problems := validation.IsValidLabelValue(nodeLabel(node)); len(problems) > 0 {
			t.Errorf("label %s: %v", nodeLabel(node), problems)
		}
	}
	if got, want := DrainName("one"), "maintenance-one"; got != want {
		t.Errorf("got %q; want %q", got, want)
	}
}
