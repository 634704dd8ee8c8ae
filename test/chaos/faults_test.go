// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/test/chaos/plan"
	"github.com/slipway-k8s/slipway/test/harness"
)

// strike has a fault happen when its moment has come, and is over when it is.
func (s *stage) strike(t *testing.T, f plan.Fault) {
	if !s.count.reaches(t.Context(), f.After) {
		t.Errorf("never came: %s", f)
		return
	}
	began := time.Now()
	if err := s.inflict(t, f); err != nil {
		t.Errorf("%s: %v", f, err)
	}
	t.Logf("%s: %s, over after %s", began.Format(time.TimeOnly), f, time.Since(began).Round(time.Second/10))
}

func (s *stage) inflict(t *testing.T, f plan.Fault) error {
	m := s.members[f.Process]
	switch f.Kind {
	case plan.Kill:
		return m.signal(t.Context(), syscall.SIGKILL)
	case plan.Freeze:
		if err := m.signal(t.Context(), syscall.SIGSTOP); err != nil {
			return err
		}
		harness.AwaitTime(t, time.Now().Add(f.For))
		return m.signal(t.Context(), syscall.SIGCONT)
	case plan.Cut:
		m.link.Cut()
		harness.AwaitTime(t, time.Now().Add(f.For))
		m.link.Mend()
	case plan.Hang:
		m.link.Hang()
		harness.AwaitTime(t, time.Now().Add(f.For))
		m.link.Mend()
	case plan.Expire:
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := m.link.Expire(ctx)
		return err
	case plan.Jump:
		seen, err := m.setClock(f.By)
		if seen {
			s.jumps.Add(1)
		}
		return err
	case plan.Restart:
		return s.restart(t.Context())
	case plan.Pause:
		return s.pause(t, f.For)
	default:
		return fmt.Errorf("there is no fault %q", f.Kind)
	}
	return nil
}

func (s *stage) restart(ctx context.Context) error {
	s.plane.Lock()
	defer s.plane.Unlock()
	if err := s.env.Stop(ctx, "kube-apiserver"); err != nil {
		return err
	}
	return s.env.Start(ctx, "kube-apiserver")
}

// pause has etcd stand still: the API server answers nothing but what it has in its caches.
func (s *stage) pause(t *testing.T, length time.Duration) error {
	s.plane.Lock()
	defer s.plane.Unlock()
	for _, c := range s.env.Components {
		if c.Name != "etcd" {
			continue
		}
		if err := syscall.Kill(c.PID, syscall.SIGSTOP); err != nil {
			return fmt.Errorf("stop etcd, process %d: %w", c.PID, err)
		}
		harness.AwaitTime(t, time.Now().Add(length))
		return syscall.Kill(c.PID, syscall.SIGCONT)
	}
	return fmt.Errorf("there is no etcd among %v", s.env.Components)
}
