// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// desk is a table whose watch and whose runs the test plays.
type desk struct {
	t     *testing.T
	table *table

	mu    sync.Mutex
	shown map[cache.ObjectName]*evictionv1alpha1.Eviction
	begun []string
	// finish lets the run of a UID return; held runs do not return when they are told to.
	finish map[types.UID]chan struct{}
	held   map[types.UID]bool
	causes map[types.UID]error
}

func atDesk(t *testing.T, maxRuns int, scene func(*desk)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{
			t: t, shown: map[cache.ObjectName]*evictionv1alpha1.Eviction{}, finish: map[types.UID]chan struct{}{},
			held: map[types.UID]bool{}, causes: map[types.UID]error{},
		}
		d.table = &table{
			name: own, queue: workqueue.NewTyped[cache.ObjectName](), find: d.find, start: d.start, maxRuns: maxRuns,
			jobs: map[cache.ObjectName]*job{}, going: map[types.UID]*job{},
		}
		ctx, cancel := context.WithCancel(quiet(t))
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			d.table.run(ctx)
		}()
		scene(d)
		cancel()
		<-ended
		for uid := range d.finish {
			if d.causes[uid] == nil {
				t.Errorf("the run of %s has not ended with the table", uid)
			}
		}
	})
}

func (d *desk) find(key cache.ObjectName) *evictionv1alpha1.Eviction {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown[key]
}

func (d *desk) start(ctx context.Context, key cache.ObjectName, e *evictionv1alpha1.Eviction) *job {
	d.mu.Lock()
	defer d.mu.Unlock()
	finish := make(chan struct{})
	d.finish[e.UID] = finish
	d.begun = append(d.begun, string(e.UID))
	server := &stage{t: d.t, eviction: e.DeepCopy()}
	j := newJob(own, clock.RealClock{}, server, e)
	j.begin(ctx, func(ctx context.Context, _ func(Progress)) error {
		select {
		case <-ctx.Done():
		case <-finish:
		}
		d.mu.Lock()
		held := d.held[e.UID]
		d.causes[e.UID] = context.Cause(ctx)
		if context.Cause(ctx) == nil {
			d.causes[e.UID] = errReturned
		}
		d.mu.Unlock()
		if held {
			<-finish
		}
		return nil
	}, func() { d.table.queue.Add(key) })
	return j
}

var errReturned = context.DeadlineExceeded // any that the kit does not use

// show lets the watch show an Eviction; nil: that it is gone.
func (d *desk) show(name string, e *evictionv1alpha1.Eviction) {
	key := cache.ObjectName{Namespace: "shop", Name: name}
	d.mu.Lock()
	d.shown[key] = e
	d.mu.Unlock()
	d.table.queue.Add(key)
	synctest.Wait()
}

func (d *desk) active(name string, uid, pod types.UID) {
	e := newEviction(name, evictionv1alpha1.ResponderStateActive, uid)
	e.Spec.Target.Pod.UID = pod
	d.show(name, e)
}

func (d *desk) done(uid types.UID) {
	close(d.finish[uid])
	synctest.Wait()
}

func (d *desk) wantBegun(uids ...string) {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.begun, uids) {
		d.t.Errorf("runs have begun for %s; want %s", strings.Join(d.begun, " "), strings.Join(uids, " "))
	}
}

func TestRunsGoOnSideBySide(t *testing.T) {
	atDesk(t, 0, func(d *desk) {
		d.active("a", "1", "p1")
		d.active("b", "2", "p2")
		d.active("c", "3", "p3")
		d.wantBegun("1", "2", "3")
	})
}

func TestARunThatIsDoneDoesNotBeginAgain(t *testing.T) {
	atDesk(t, 0, func(d *desk) {
		d.active("a", "1", "p1")
		d.active("a", "1", "p1")
		d.done("1")
		d.active("a", "1", "p1") // as the watch shows it late
		d.wantBegun("1")
	})
}

func TestMaxRunsLetsOthersWaitInTheirOrder(t *testing.T) {
	atDesk(t, 2, func(d *desk) {
		for i, name := range []string{"a", "b", "c", "d", "e"} {
			d.active(name, types.UID(name), types.UID(rune('p'+i)))
		}
		d.active("d", "d", "s") // shown again: it keeps its place
		d.wantBegun("a", "b")
		d.show("c", nil) // does not want to any more
		d.done("b")
		d.wantBegun("a", "b", "d")
		d.done("a")
		d.wantBegun("a", "b", "d", "e")
	})
}

func TestAPodHasOneRunAtATime(t *testing.T) {
	atDesk(t, 0, func(d *desk) {
		d.held["1"] = true
		d.active("a", "1", "p1")
		d.show("a", newEviction("a", evictionv1alpha1.ResponderStateCanceled, "1"))
		d.active("b", "2", "p1") // wanted again, before the first run has returned
		d.wantBegun("1")
		d.done("1")
		d.wantBegun("1", "2")
	})
}

func TestANewEvictionOfTheSameNameBeginsWhenTheOldOneHasEnded(t *testing.T) {
	atDesk(t, 0, func(d *desk) {
		d.held["1"] = true
		d.active("a", "1", "p1")
		d.active("a", "2", "p2")
		d.wantBegun("1")
		d.done("1")
		d.wantBegun("1", "2")
	})
}

func TestAnEvictionThatWasOutOfSightBeginsAgain(t *testing.T) {
	atDesk(t, 0, func(d *desk) {
		d.active("a", "1", "p1")
		d.show("a", nil)
		d.active("a", "1", "p1") // its label was taken away, and came back
		d.wantBegun("1", "1")
	})
}

func TestNothingBeginsThatIsNotItsTurn(t *testing.T) {
	atDesk(t, 0, func(d *desk) {
		d.show("a", newEviction("a", evictionv1alpha1.ResponderStateInactive, "1"))
		d.wantBegun()
		d.active("a", "1", "p1")
		d.wantBegun("1")
	})
}
