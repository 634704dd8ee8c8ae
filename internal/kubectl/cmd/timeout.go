// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"slices"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// timedOut says how those have ended that have, and what is not done.
func (p *pursuit) timedOut(ctx context.Context, told *progress.Model) error {
	var codes []int
	var left []string
	for _, s := range told.All() {
		if s.Ended() {
			codes = append(codes, p.sayEnd(s))
			continue
		}
		code, goesOn := p.leave(ctx, s)
		if goesOn {
			left = append(left, s.Node())
		}
		codes = append(codes, code)
	}
	for _, entry := range told.Still(p.clock.Now()) {
		if len(left) > 0 && (entry.Node == "" || slices.Contains(left, entry.Node)) {
			fmt.Fprintln(p.ErrOut, entry.Line())
		}
	}
	if len(left) > 0 {
		goesOn := "It goes on in the cluster."
		if p.byTimeout {
			goesOn = "In the cluster it goes on until its deadline."
		}
		p.sayHow("The time to wait is over. "+goesOn, left)
	}
	return ending(codes)
}

// leave leaves one that has not ended, and says whether it goes on. What has not begun is
// withdrawn, if nothing was to happen after the timeout: so does kubectl drain.
func (p *pursuit) leave(ctx context.Context, s *progress.Item) (code int, goesOn bool) {
	got, known := p.asked[s.Name()]
	event := s.Event()
	switch {
	case !known || event == nil:
		fmt.Fprintf(p.ErrOut, "error: node %s is not %s: the time was over before it was asked for\n", s.Node(), p.verb)
		return Blocked, false
	case !p.byTimeout || !got.ours || event.Status.ClaimStatus == lifecyclev1alpha1.Claimed:
		return Blocked, true
	}
	if err := p.asker.withdraw(ctx, event); err != nil {
		fmt.Fprintf(p.ErrOut, "error: node %s is not %s: its event was not claimed in time, and could not be withdrawn: %v\n", s.Node(), p.verb, err)
		return Error, true
	}
	text := "its event was not claimed in time, and was withdrawn"
	if wait := state.WaitOf(event); wait.Reason != "" {
		text += ". " + ui.Clean(wait.String())
	}
	fmt.Fprintf(p.ErrOut, "error: node %s is not %s: %s\n", s.Node(), p.verb, text)
	return Blocked, false
}
