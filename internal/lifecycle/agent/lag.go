// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
)

// afterWrite is how long the watches may take to show what was written, before the
// API server is asked for it. They take a minute to be back after an outage, and a
// step that is decided on what they showed before would only be refused.
const afterWrite = time.Second

// lag notices that the caches are behind, for each object by itself: the watches do not
// come back at the same time, and that one shows what it should says nothing of the others.
type lag map[types.UID]unshown

// unshown is an object that was written, and that the caches do not show so.
type unshown struct {
	shown string // its version there, when it was written; empty: none
	// written is the version that the server gave it; empty: unknown. With it, what others
	// wrote a moment before is not taken for what was written here.
	written string
	since   time.Time
}

// by says whether what the caches show is behind it; empty: they do not show the object.
func (u unshown) by(version string) bool {
	if version == "" || u.written == "" {
		return version == u.shown
	}
	order, err := resourceversion.CompareResourceVersion(version, u.written)
	return err == nil && order < 0
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

// wrote notes that an object was written, or was refused because it has changed, when
// the caches showed what they show. written is the version that it was given, if known.
func (l lag) wrote(object types.UID, written string, cached transition.Facts, now time.Time) {
	shown := versionsOf(cached)[object]
	if before, behind := l[object]; behind && before.by(shown) { // it was behind already
		now = before.since
		if written == "" {
			written = before.written
		}
	}
	l[object] = unshown{shown, written, now}
}

// of says since when the caches do not show what was written. Zero: they do, or
// nothing was.
func (l lag) of(cached transition.Facts) (since time.Time) {
	versions := versionsOf(cached)
	for object, u := range l {
		if !u.by(versions[object]) {
			delete(l, object)
		} else if since.IsZero() || u.since.Before(since) {
			since = u.since
		}
	}
	return since
}

// compared takes in what the API server has: what the caches show as well is not behind,
// whatever was written.
func (l lag) compared(cached, live transition.Facts, now time.Time) {
	shown, are := versionsOf(cached), versionsOf(live)
	for object := range l {
		if shown[object] == are[object] {
			delete(l, object)
		}
	}
	for _, versions := range []versions{shown, are} {
		for object := range versions {
			if shown[object] != are[object] {
				l.wrote(object, are[object], cached, now)
			}
		}
	}
}
