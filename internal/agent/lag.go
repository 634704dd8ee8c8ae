// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/internal/transition"
)

// afterWrite is how long the watches may take to show what was written, before the
// API server is asked for it. They take a minute to be back after an outage, and a
// step that is decided on what they showed before would only be refused.
const afterWrite = time.Second

// lag notices that the caches are behind.
type lag struct {
	shown versions // by the caches, when something was written
	since time.Time
}

// versions are the resource versions of what was read, by UID.
type versions map[types.UID]string

func versionsOf(f transition.Facts) versions {
	v := versions{}
	for _, e := range f.Events {
		v[e.UID] = e.ResourceVersion
	}
	for _, t := range f.Transitions {
		v[t.UID] = t.ResourceVersion
	}
	if f.Node != nil {
		v[f.Node.UID] = f.Node.ResourceVersion
	}
	return v
}

// wrote notes that something was written, or was refused because it has changed, when
// the caches showed what they show.
func (l *lag) wrote(cached transition.Facts, now time.Time) {
	shown := versionsOf(cached)
	if l.shown != nil && maps.Equal(l.shown, shown) {
		return // they were behind already
	}
	l.shown, l.since = shown, now
}

// of says since when the caches do not show what was written. Zero: they do, or
// nothing was.
func (l *lag) of(cached transition.Facts) time.Time {
	if l.shown == nil || !maps.Equal(l.shown, versionsOf(cached)) {
		*l = lag{}
	}
	return l.since
}
