// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

const own = "backup.example.com/database"

// stage is one job on a server that can be told to fail. Its time is that of a bubble of
// testing/synctest.
type stage struct {
	t     *testing.T
	began time.Time
	ended chan struct{}
	*job

	mu       sync.Mutex
	eviction *evictionv1alpha1.Eviction
	// readFails and writeFails are what the next requests fail with; nil: one succeeds.
	readFails, writeFails []error
	attempts              []time.Duration // at writing
}

var errDown = errors.New("the server is down")

func newEviction(name string, state evictionv1alpha1.ResponderStateType, uid types.UID) *evictionv1alpha1.Eviction {
	return &evictionv1alpha1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: uid, ResourceVersion: "100"},
		Spec: evictionv1alpha1.EvictionSpec{Target: evictionv1alpha1.EvictionTarget{
			Pod: &evictionv1alpha1.EvictionPodReference{Name: "cart-0", UID: "pod-" + uid},
		}},
		Status: evictionv1alpha1.EvictionStatus{
			ObservedGeneration: new(int64(1)),
			TargetResponders:   []evictionv1alpha1.TargetResponder{{Name: own, State: state}},
			Responders:         []evictionv1alpha1.ResponderStatus{{Name: own}},
		},
	}
}

func play(t *testing.T, run func(context.Context, func(Progress)) error, scene func(*stage)) {
	t.Helper()
	playFailing(t, nil, run, scene)
}

func playFailing(t *testing.T, writeFails []error, run func(context.Context, func(Progress)) error, scene func(*stage)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &stage{
			t: t, began: time.Now(), ended: make(chan struct{}), writeFails: writeFails,
			eviction: newEviction("pod-1-cart-0", evictionv1alpha1.ResponderStateActive, "u"),
		}
		s.job = newJob(own, clock.RealClock{}, s, s.eviction.DeepCopy())
		s.begin(quiet(t), run, func() { close(s.ended) })
		scene(s)
		s.stop(ErrShutdown)
		<-s.ended
	})
}

func (s *stage) read(context.Context, *evictionv1alpha1.Eviction) (*evictionv1alpha1.Eviction, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := shift(&s.readFails); err != nil {
		return nil, err
	}
	return s.eviction.DeepCopy(), nil
}

func (s *stage) write(_ context.Context, _ *evictionv1alpha1.Eviction, entry *evictionv1alpha1.ResponderStatus) (*evictionv1alpha1.Eviction, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts = append(s.attempts, time.Since(s.began))
	err := shift(&s.writeFails)
	if err == nil || errors.Is(err, errWritten) {
		s.changeLocked(func(e *evictionv1alpha1.Eviction) { e.Status.Responders[0] = *entry.DeepCopy() })
	}
	if err != nil {
		return nil, err
	}
	return s.eviction.DeepCopy(), nil
}

// errWritten is a conflict with one's own write, of which the answer was lost.
var errWritten = fmt.Errorf("written before: %w", conflict)

func shift(errs *[]error) error {
	if len(*errs) == 0 {
		return nil
	}
	first := (*errs)[0]
	*errs = (*errs)[1:]
	return first
}

func (s *stage) change(how func(*evictionv1alpha1.Eviction)) *evictionv1alpha1.Eviction {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changeLocked(how)
}

func (s *stage) changeLocked(how func(*evictionv1alpha1.Eviction)) *evictionv1alpha1.Eviction {
	version, err := strconv.Atoi(s.eviction.ResourceVersion)
	if err != nil {
		s.t.Error(err)
	}
	how(s.eviction)
	s.eviction.ResourceVersion = strconv.Itoa(version + 1)
	return s.eviction.DeepCopy()
}

// pass lets time go by.
func (s *stage) pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (s *stage) entry() evictionv1alpha1.ResponderStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.eviction.Status.Responders[0]
}

func (s *stage) writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.attempts)
}

// until is a run that goes on until it is told to end, and keeps why.
func until(cause *error, result error) func(context.Context, func(Progress)) error {
	return func(ctx context.Context, _ func(Progress)) error {
		<-ctx.Done()
		*cause = context.Cause(ctx)
		return result
	}
}
