// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// pace is how fast an event comes along.
type pace struct {
	began, last time.Time // when progress was seen first, and when more was done last
	base        int32     // what was done when it was seen first
	done, total int32
}

func (p *pace) saw(progress lifecyclev1alpha1.Progress, at time.Time) {
	if p.began.IsZero() {
		p.began, p.last, p.base = at, at, progress.Done
	}
	if progress.Done != p.done {
		p.last = at
	}
	p.done, p.total = progress.Done, progress.Total
}

// left is how long what is left will take, if it takes as long as what is done. It is not
// known before something was done, nor when the next is long overdue.
func (p *pace) left(now time.Time) (time.Duration, bool) {
	done := p.done - p.base
	if done <= 0 || p.done >= p.total {
		return 0, false
	}
	each := p.last.Sub(p.began) / time.Duration(done)
	since := now.Sub(p.last)
	const slack = 10 * time.Second
	if since > 2*each+slack {
		return 0, false
	}
	return max(each*time.Duration(p.total-p.done)-since, 0), true
}

// about is a time for people: nobody knows it to the second.
func about(d time.Duration) string {
	const (
		few    = 10 * time.Second
		coarse = 10 * time.Second
		fine   = 5 * time.Second
	)
	switch {
	case d < few:
		return "a few seconds left"
	case d < time.Minute:
		return fmt.Sprintf("about %s left", duration.HumanDuration(d.Round(fine)))
	default:
		return fmt.Sprintf("about %s left", duration.HumanDuration(d.Round(coarse)))
	}
}
