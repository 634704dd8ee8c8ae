// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/drain"
)

// TestAStockIsAsGoodAsNew plans drains of all nodes, one after the other, with one stock, and
// again: each says what it says by itself.
func TestAStockIsAsGoodAsNew(t *testing.T) {
	f := facts(nodes(node("w0", "zone=a"), node("w1", "zone=a"), node("w2", "zone=b"), cordoned(node("w3"))),
		pod("web", "w0", cpu("3"), apartFrom("web", "zone")), pod("db", "w1", cpu("3"), beside("web", "zone")), pod("big", "w2", cpu("2")),
		pod("big", "w0"), pod("db", "w2", apartFrom("db", "zone")), pod("web", "w3"))
	stock := NewStock(f.Nodes, f.Pods)
	for range 2 {
		for _, n := range f.Nodes {
			f.Drains.Nodes = []drain.NodeSnapshot{{Node: n, Pods: f.Pods}}
			f.Stock = nil
			alone := planned(t, f)
			f.Stock = stock
			if diff := cmp.Diff(alone, planned(t, f)); diff != "" {
				t.Errorf("%s (-by itself +with a stock):\n%s", n.Name, diff)
			}
		}
	}
}
