// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// names of maintenances.
type names map[string]struct{}

func (n names) add(name string) { n[name] = struct{}{} }

func (n names) join(others names) { maps.Copy(n, others) }

// room is how long a list of names in a message gets, about: a status has room for 1024
// characters.
const room = 600

// String lists the names, sorted, as far as there is room.
func (n names) String() string {
	sorted := slices.Sorted(maps.Keys(n))
	length := 0
	for i, name := range sorted {
		length += len(name)
		if length > room && i > 0 {
			return fmt.Sprintf("%s and %d more", strings.Join(sorted[:i], ", "), len(sorted)-i)
		}
	}
	return strings.Join(sorted, ", ")
}

func draining(limiting names) string {
	if len(limiting) == 0 {
		return "Draining"
	}
	return "Draining (limited by " + limiting.String() + ")"
}

func waiting(these names) string {
	if len(these) == 0 {
		return ""
	}
	return "Waiting for " + these.String() + "."
}

// message says what goes on at a node.
func (p *place) message() string {
	if !p.reached && len(p.has) > 0 {
		return draining(p.limiting)
	}
	others := names{}
	for _, c := range p.wanting {
		if c.level().compare(p.level) <= 0 {
			others.join(c.waits)
			continue
		}
		others.join(p.limiting)
	}
	return waiting(others)
}

// message says what goes on in a maintenance.
func (c *course) message() string {
	drains, limiting := false, names{}
	for _, p := range c.places {
		drains = drains || !p.reached
		if p.level.compare(c.level()) < 0 {
			limiting.join(p.limiting)
		}
	}
	if drains {
		return draining(limiting)
	}
	return waiting(c.waits)
}
