// SPDX-License-Identifier: Apache-2.0

package child

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestWhoWaitsForAProcessIsToldOfItsEnd(t *testing.T) {
	p, err := Start("the program", exec.CommandContext(t.Context(), "sh", "-c", "exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ctx, stop := p.While(limit)
	defer stop()
	<-ctx.Done()
	const want = "the program has ended: exit status 3"
	if cause := context.Cause(ctx); !strings.HasPrefix(cause.Error(), want) {
		t.Errorf("it is told %q, want %q", cause, want)
	}
	if p.Ended() == nil || p.Kill() != nil {
		t.Errorf("ended: %v; killed: %v", p.Ended(), p.Kill())
	}
}

func TestAProcessRunsUntilItIsKilled(t *testing.T) {
	p, err := Start("the program", exec.CommandContext(t.Context(), "sleep", "1000"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := p.While(t.Context())
	if p.Ended() != nil || ctx.Err() != nil {
		t.Errorf("it has ended: %v", p.Ended())
	}
	stop()
	if err := p.Kill(); err != nil || p.Ended() == nil {
		t.Errorf("killed: %v; ended: %v", err, p.Ended())
	}
	if _, err := Start("none", exec.CommandContext(t.Context(), "/nowhere/at/all")); err == nil || !strings.Contains(err.Error(), "start none") {
		t.Errorf("got %v", err)
	}
}
