// SPDX-License-Identifier: Apache-2.0

package podrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-k8s/slipway/localcluster/internal/kubeapi"
	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
)

// Run says what to run as which pod.
type Run struct {
	API *kubeapi.Client
	Pod Pod
	// Server and AuthorityFile are what the pod's clients need.
	Server, AuthorityFile string
	Files                 Files
	TokenLife             time.Duration

	// Command is the program and its arguments; Env is added to the launcher's
	// own environment, and so is Marker, by which all that the command starts is
	// found again.
	Command []string
	Env     []string
	Marker  string
	// Restart starts the command again whenever it ends.
	Restart        bool
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	Report *progress.Reporter
}

// Do runs the command until it ends (for good), the pod is deleted, or ctx is
// done. The command's own failure is an *exec.ExitError.
func (r Run) Do(outer context.Context) error {
	if err := r.Files.write(r.Pod, r.Server, r.AuthorityFile); err != nil {
		return err
	}
	current, err := requestToken(outer, r.API, r.Pod, r.TokenLife)
	if err != nil {
		return err
	}
	if err := r.Files.writeToken(current); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	var attendants errgroup.Group
	attendants.Go(func() error { return r.keepTokenFresh(ctx, current) })
	attendants.Go(func() error { cancel(r.awaitDeletion(ctx)); return nil })

	ended := r.command(ctx)
	cause := context.Cause(ctx)
	cancel(nil)
	if err := attendants.Wait(); err != nil {
		return err
	}
	if errors.Is(cause, errDeleted) {
		r.Report.Step("pod %s/%s: %v; the command has ended", r.Pod.Namespace, r.Pod.Name, cause)
		return nil
	}
	if outer.Err() != nil {
		return nil // it was asked to end, and did
	}
	return ended
}

// command runs the command, again and again if so asked.
func (r Run) command(ctx context.Context) error {
	var pause backoff
	for {
		started := time.Now()
		err := r.once(ctx)
		if !r.Restart || ctx.Err() != nil {
			return err
		}
		wait := pause.next(time.Since(started))
		r.Report.Step("the command ended (%s); starting it again in %s", outcome(err), wait)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
	}
}

func outcome(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// keepTokenFresh replaces the token in time, as the kubelet does.
func (r Run) keepTokenFresh(ctx context.Context, current token) error {
	const retry = 2 * time.Second
	wait := time.Until(current.renewal())
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(wait):
		}
		renewed, err := requestToken(ctx, r.API, r.Pod, r.TokenLife)
		if err != nil {
			// The API server may be away for a while, and the old token is still
			// good: try again soon.
			if ctx.Err() == nil {
				r.Report.Step("renewing the token: %v", err)
			}
			wait = retry
			continue
		}
		if err := r.Files.writeToken(renewed); err != nil {
			return fmt.Errorf("renew the token: %w", err)
		}
		wait = time.Until(renewed.renewal())
	}
}

// backoff is the pause before a command is started again: it doubles with each
// failure and begins anew after the command has run for a while.
type backoff struct {
	last time.Duration
}

const (
	shortestPause = time.Second
	longestPause  = 30 * time.Second
	// healthyRun is shorter than the kubelet's ten minutes, as are the pauses: a
	// test has less time than an operator.
	healthyRun = time.Minute
)

func (b *backoff) next(ran time.Duration) time.Duration {
	if b.last == 0 || ran >= healthyRun {
		b.last = shortestPause
		return b.last
	}
	b.last = min(2*b.last, longestPause)
	return b.last
}
