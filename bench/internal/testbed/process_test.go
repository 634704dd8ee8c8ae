// SPDX-License-Identifier: Apache-2.0

package testbed

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestAWaitEndsWithTheProcess(t *testing.T) {
	c := &Cluster{Dir: t.TempDir()}
	p, err := c.Start("the program", exec.CommandContext(t.Context(), "sh", "-c", "echo last words; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	limit, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ctx, stop := While(limit, p)
	defer stop()
	<-ctx.Done()
	cause := context.Cause(ctx).Error()
	if !strings.HasPrefix(cause, "the program has ended: exit status 3") || !strings.Contains(cause, "last words") {
		t.Errorf("the cause is %q", cause)
	}
	if p.Ended() == nil || p.Kill() != nil || p.Stop() != nil {
		t.Errorf("ended: %v; killed: %v", p.Ended(), p.Kill())
	}
}

func TestAProcessRunsUntilItIsStopped(t *testing.T) {
	c := &Cluster{Dir: t.TempDir()}
	for name, stop := range map[string]func(*Process) error{"stopped": (*Process).Stop, "killed": (*Process).Kill} {
		p, err := c.Start("the program", exec.CommandContext(t.Context(), "sleep", "1000"))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := While(t.Context(), p)
		if p.Ended() != nil || ctx.Err() != nil {
			t.Errorf("it has ended: %v", p.Ended())
		}
		cancel()
		if err := stop(p); err != nil || p.Ended() == nil {
			t.Errorf("%s: %v; ended: %v", name, err, p.Ended())
		}
	}
	if _, err := c.Start("none", exec.CommandContext(t.Context(), "/nowhere/at/all")); err == nil || !strings.Contains(err.Error(), "start none") {
		t.Errorf("got %v", err)
	}
}
