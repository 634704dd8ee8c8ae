// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
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

// Names of nodes may have 253 characters, as many as those of events, and may look like the
// names that are made of them.
func TestNoTwoNodesShareANameOfAnEvent(t *testing.T) {
	anyNode := rapid.Custom(func(t *rapid.T) string {
		name := rapid.StringMatching("[a-b]{1,2}(-a)?").Draw(t, "name")
		if length := rapid.SampledFrom([]int{0, 235, 240, 241, 242, 248, 253}).Draw(t, "length"); length > len(name) {
			name = strings.Repeat("x", length-len(name)) + name
		}
		switch made := rapid.SampledFrom([]func(string) string{DrainName, ReturnName, nil}).Draw(t, "made"); {
		case made != nil && rapid.Bool().Draw(t, "of an event"):
			return strings.TrimPrefix(made(name), namePrefix)
		case len(name)+len(returnSuffix) <= maxName && rapid.Bool().Draw(t, "suffix"):
			return name + returnSuffix
		default:
			return name
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyNode.Draw(t, "a"), anyNode.Draw(t, "b")
		of := func(node string) []string { return []string{DrainName(node), ReturnName(node)} }
		for _, node := range []string{a, b} {
			if problems := validation.IsDNS1123Subdomain(node); len(problems) > 0 {
				t.Fatalf("%q is no node: %v", node, problems)
			}
			for _, name := range of(node) {
				if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
					t.Fatalf("%s, of node %s: %v", name, node, problems)
				}
			}
		}
		all := of(a)
		if a != b {
			all = append(all, of(b)...)
		}
		for i, name := range all {
			if slices.Contains(all[i+1:], name) {
				t.Fatalf("%s is a name of two events of %s and %s", name, a, b)
			}
		}
	})
}
