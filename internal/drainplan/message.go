// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"maps"
	"slices"
	"strings"
)

// names of maintenances.
type names map[string]struct{}

func (n names) add(name string) { n[name] = struct{}{} }

func (n names) join(others names) { maps.Copy(n, others) }

func (n names) without(name string) names {
	rest := maps.Clone(n)
	delete(rest, name)
	return rest
}

func (n names) String() string {
	return strings.Join(slices.Sorted(maps.Keys(n)), ", ")
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
	limiting := p.limiting()
	if !p.reached && len(p.has) > 0 {
		return draining(limiting)
	}
	others := names{}
	for _, c := range p.wanting {
		if c.level().compare(p.level) <= 0 {
			others.join(c.waitsFor())
			continue
		}
		others.join(limiting)
	}
	return waiting(others)
}

// message says what goes on in a maintenance.
func (c *course) message() string {
	drains, limiting := false, names{}
	for _, p := range c.places {
		drains = drains || !p.reached
		if p.level.compare(c.level()) < 0 {
			limiting.join(p.limiting())
		}
	}
	if drains {
		return draining(limiting.without(c.Name))
	}
	return waiting(c.waitsFor().without(c.Name))
}
