// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
)

// afterWrite is how long the watches may take to show a write, before the API server is asked. After an outage they
// need a minute to resume, and steps that are decided on old versions would only be refused.
const afterWrite = time.Second

// lag records which objects the caches show in an old version. The watches do not resume at the same time: that
// one object is current says nothing of the others.
//
// The agent does not use internal/platform/ownwrites: it needs to know that a watch is late, because it then
// reads the API server, where it also sees what others have written.
type lag map[types.UID]unshown

// unshown is a write that the caches do not show.
type unshown struct {
	shown string // the version in the caches at the time of the write; empty: none
	// written is the version after the write; empty: unknown. It tells the write from another one a moment before.
	written string
	since   time.Time
}

// isBehind says whether a version in the caches is older than the write; empty: they do not have the object.
func (u unshown) isBehind(version string) bool {
	if version == "" || u.written == "" {
		return version == u.shown
	}
	order, err := resourceversion.CompareResourceVersion(version, u.written)
	return err == nil && order < 0
}

// versionsOf returns the resource versions of all objects in the facts.
func versionsOf(f transition.Facts) map[types.UID]string {
	v := map[types.UID]string{}
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

// wrote records a write of an object, or a refused one because the object has changed. written is the version
// after the write, if known.
func (l lag) wrote(object types.UID, written string, cached transition.Facts, now time.Time) {
	l.expect(object, versionsOf(cached)[object], written, now)
}

func (l lag) expect(object types.UID, shown, written string, now time.Time) {
	if before, known := l[object]; known && before.isBehind(shown) { // since an earlier write
		now = before.since
		if written == "" {
			written = before.written
		}
	}
	l[object] = unshown{shown, written, now}
}

// behindSince returns the time of the first write that the caches do not show. Zero: they show all.
func (l lag) behindSince(cached transition.Facts) (since time.Time) {
	versions := versionsOf(cached)
	for object, u := range l {
		if !u.isBehind(versions[object]) {
			delete(l, object)
		} else if since.IsZero() || u.since.Before(since) {
			since = u.since
		}
	}
	return since
}

// compare replaces what was recorded by the difference between the caches and the API server.
func (l lag) compare(cached, live transition.Facts, now time.Time) {
	shown, current := versionsOf(cached), versionsOf(live)
	for object := range l {
		if shown[object] == current[object] {
			delete(l, object)
		}
	}
	for _, versions := range []map[types.UID]string{shown, current} {
		for object := range versions {
			if shown[object] != current[object] {
				l.expect(object, shown[object], current[object], now)
			}
		}
	}
}
