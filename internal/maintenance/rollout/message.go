// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
)

// listed is how many names a message has at most.
const listed = 10

func list(nodes []*Node) string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return listNames(names)
}

func listNames(names []string) string {
	if len(names) <= listed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:listed], ", "), len(names)-listed)
}

func nodes(count int) string {
	if count == 1 {
		return "1 node"
	}
	return fmt.Sprintf("%d nodes", count)
}

func have(count int) string {
	if count == 1 {
		return "1 node has"
	}
	return fmt.Sprintf("%d nodes have", count)
}

func are(count int) string {
	if count == 1 {
		return "1 is"
	}
	return fmt.Sprintf("%d are", count)
}

// naming says which nodes are of a domain.
func (s *state) naming(domain string) string {
	if domain == "" {
		return "the nodes without label " + s.rollout.TopologyKey
	}
	return "the nodes with " + s.rollout.TopologyKey + "=" + domain
}

func among(all []*Node, is func(*Node) bool) []*Node {
	var some []*Node
	for _, n := range all {
		if is(n) {
			some = append(some, n)
		}
	}
	return some
}
