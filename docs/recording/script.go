// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"regexp"
	"time"
)

// act is a command of the script.
type act struct {
	command string
	// until is what the screen shows when it may be stopped with Ctrl-C; nil: it ends by itself.
	until *regexp.Regexp
	// read is how long what it says is to stand.
	read time.Duration
}

// script is the story: a drain is asked for, and blocked; it is asked why, and what helps;
// that is done; the drain ends; the node is put back.
var script = []act{
	{
		command: "kubectl slipway drain worker-1 --reason 'new firmware'",
		until:   regexp.MustCompile(`\b4/\d\b`),
		read:    3500 * time.Millisecond,
	},
	{command: "clear; kubectl slipway explain worker-1", read: 7 * time.Second},
	{command: "kubectl scale deployment ledger -n shop --replicas=2", read: time.Second},
	{command: "clear; kubectl slipway drain worker-1 --reason 'new firmware'", read: 4 * time.Second},
	{command: "kubectl slipway uncordon worker-1", read: 4 * time.Second},
}

var prompt = regexp.MustCompile(`(?:^|\n)\$\s*$`)

// play types the script.
func play(ctx context.Context, s *shell) error {
	if err := s.await(ctx, prompt); err != nil {
		return err
	}
	s.hold(time.Second)
	for _, a := range script {
		if err := a.play(ctx, s); err != nil {
			return fmt.Errorf("%s: %w", a.command, err)
		}
	}
	return nil
}

func (a act) play(ctx context.Context, s *shell) error {
	if err := s.enter(ctx, a.command); err != nil {
		return err
	}
	if a.until != nil {
		if err := s.await(ctx, a.until); err != nil {
			return err
		}
		s.hold(a.read)
		if err := s.interrupt(); err != nil {
			return err
		}
	}
	if err := s.await(ctx, prompt); err != nil {
		return err
	}
	s.hold(a.read)
	return nil
}
