// SPDX-License-Identifier: Apache-2.0

package contender

import (
	"context"
	"time"

	"github.com/slipway-k8s/slipway/bench/drain/internal/stage"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// The names of the contenders.
const (
	Kubectl = "kubectl"
	Ideal   = "ideal"
	Slipway = "slipway"
)

// Names are those of all contenders.
func Names() []string { return []string{Kubectl, Ideal, Slipway} }

// Contender drains nodes.
type Contender interface {
	Name() string
	// Drain drains the nodes of a scene, and returns them as well if it is a fleet. If blocked
	// is not zero, the drain cannot end, and is stopped after that time.
	Drain(ctx context.Context, scene *stage.Scene, blocked time.Duration) (Times, error)
	// Return makes the nodes schedulable again.
	Return(ctx context.Context, nodes []string) error
	// Sent says whether a request came from the contender.
	Sent(request auditlog.Request) bool
}

// Times of a drain.
type Times struct {
	// Began is when the contender was asked; Ended when it said that it was done; Over
	// when nothing of the drain was left to do for it.
	Began, Ended, Over time.Time
}

// New returns the contender of the given name.
func New(ctx context.Context, name string, s *stage.Stage) (Contender, error) {
	switch name {
	case Kubectl:
		return newKubectl(ctx, s)
	case Ideal:
		return newIdeal(s)
	default:
		return newSlipway(s)
	}
}

// during runs a drain that is stopped after a time, if that is not zero: that it was is
// no error.
func during(ctx context.Context, blocked time.Duration, drain func(context.Context) error) (Times, error) {
	t := Times{Began: time.Now()}
	limited := ctx
	if blocked > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, blocked)
		defer cancel()
	}
	err := drain(limited)
	t.Ended = time.Now()
	if stopped := blocked > 0 && limited.Err() != nil && ctx.Err() == nil; stopped {
		t.Ended, err = t.Began.Add(blocked), nil
	}
	t.Over = t.Ended
	return t, err
}
