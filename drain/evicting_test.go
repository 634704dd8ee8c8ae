// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
)

// evicting is an EvictPod that runs in the bubble of a test.
type evicting struct {
	t      *testing.T
	cancel context.CancelCauseFunc
	result chan error

	mu   sync.Mutex
	told []drain.PodProgress
}

func startEvicting(t *testing.T, d *drain.Drainer, pod string) *evicting {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	e := &evicting{t: t, cancel: cancel, result: make(chan error, 1)}
	t.Cleanup(func() { cancel(nil) })
	go func() {
		e.result <- d.EvictPod(ctx, types.NamespacedName{Namespace: "default", Name: pod}, types.UID("uid-"+pod), e.tell)
	}()
	return e
}

func (e *evicting) tell(p drain.PodProgress) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.told = append(e.told, p)
}

func (e *evicting) reasons() []drain.Reason {
	synctest.Wait()
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []drain.Reason
	for _, p := range e.told {
		all = append(all, p.Blocker.Reason)
	}
	return all
}

func (e *evicting) end() error {
	e.t.Helper()
	select {
	case err := <-e.result:
		return err
	case <-time.After(time.Hour):
		e.t.Fatalf("EvictPod does not end; it told %v", e.reasons())
		return nil
	}
}

func (e *evicting) wantRunning() {
	e.t.Helper()
	synctest.Wait()
	select {
	case err := <-e.result:
		e.t.Fatalf("EvictPod has returned: %v", err)
	default:
	}
}

func newDrainer(t *testing.T, s *fakeServer, change ...func(*drain.Config)) *drain.Drainer {
	t.Helper()
	config := drain.Config{Pods: s.CoreV1(), Budgets: s.PolicyV1()}
	for _, c := range change {
		c(&config)
	}
	d, err := drain.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func (s *fakeServer) putBudget(b *policyv1.PodDisruptionBudget) {
	if err := s.Tracker().Update(policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), b, "default"); err != nil {
		s.t.Errorf("put budget: %v", err)
	}
}
