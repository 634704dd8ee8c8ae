// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
)

// afterWrite is the time that the watches have to show a write, before the agent reads from the API server. After an
// outage they need a minute to resume, and the server would reject steps that are based on old versions.
const afterWrite = time.Second

// lag records the objects of which the caches show an old version. The watches do not resume at the same time: one
// object may be current while another is not.
//
// The agent does not use internal/platform/ownwrites: it must detect a late watch, because it then reads from the API
// server, which also shows the writes of other clients.
type lag map[types.UID]unshown

// unshown is a write that the caches do not show.
type unshown struct {
	shown string // the version in the caches at the time of the write; empty: none
	// written is the version after the write; empty: unknown. It distinguishes this write from an earlier one.
	written string
	since   time.Time
}

// isBehind returns whether a version in the caches is older than the write. It is empty if they lack the object.
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

// wrote records a write of an object, or its rejection because another client has changed the object. written is the
// version after the write, if known.
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

// behindSince returns the time of the first write that the caches do not show. Zero: they show all writes.
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

// compare replaces the record by the difference between the caches and the API server.
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
