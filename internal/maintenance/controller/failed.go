// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/maintenance"
)

const (
	// failedBase and failedCap bound the backoff of a step that fails.
	failedBase = 250 * time.Millisecond
	failedCap  = 30 * time.Second
	// logged is the maximum number of errors in a line of the log.
	logged = 5
)

// errNotTried reports that a step waits for the end of its backoff.
var errNotTried = errors.New("the backoff of the step has not ended")

// grant is the remedy for missing permissions.
const grant = "A permission is missing, or a policy refuses the request: config/rbac/controller.yaml has the permissions of the controller " +
	"(ClusterRole slipway-controller, and Role slipway-controller in Slipway's namespace); apply that of this version"

// failed are the steps that have failed, by key, or the writes of statuses, by UID.
type failed struct {
	clock clock.PassiveClock
	steps map[string]failedStep
}

type failedStep struct {
	times int
	again time.Time
	// refusal is the objection of the API server; empty, if the error may pass by itself.
	refusal string
}

func newFailed(c clock.PassiveClock) *failed {
	return &failed{clock: c, steps: map[string]failedStep{}}
}

// mayTry reports whether a step has not failed, or its backoff has ended.
func (f *failed) mayTry(key string) bool { return !f.clock.Now().Before(f.steps[key].again) }

// record records the outcomes of the steps of a pass, and logs the failures. It forgets failures whose
// backoff has ended without a step of that key.
func (f *failed) record(ctx context.Context, steps []maintenance.Step, errs []error) {
	var failures []error
	wanted := map[string]bool{}
	for i, step := range steps {
		key := maintenance.Key(step)
		wanted[key] = true
		failures = append(failures, f.take(key, errs[i]))
	}
	for key := range f.steps {
		if !wanted[key] && f.mayTry(key) {
			f.forget(key)
		}
	}
	logFailures(ctx, failures)
}

// take records the outcome of a step. It returns the error if the log has to show it.
func (f *failed) take(key string, err error) error {
	switch {
	case errors.Is(err, errNotTried):
		return nil
	case err == nil, errors.Is(err, errStale):
		f.forget(key)
		return nil
	}
	n := f.steps[key].times
	f.steps[key] = failedStep{n + 1, f.clock.Now().Add(min(failedBase<<min(n, 10), failedCap)), refusalOf(err)}
	return err
}

func (f *failed) forget(key string) { delete(f.steps, key) }

// refusals returns the objections of the API server by key, except errors that may pass by themselves,
// such as an overload.
func (f *failed) refusals() map[string]string {
	all := map[string]string{}
	for key, step := range f.steps {
		if step.refusal != "" {
			all[key] = step.refusal
		}
	}
	return all
}

func refusalOf(err error) string {
	if errors.Is(err, errTaken) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsInternalError(err) {
		return err.Error()
	}
	return ""
}

// due returns the earliest end of a backoff; zero, if no step has failed.
func (f *failed) due() (next time.Time) {
	for _, step := range f.steps {
		next = earliest(next, step.again)
	}
	return next
}

// logFailures logs errors, which may be nil, in one line.
func logFailures(ctx context.Context, failures []error) {
	failures = slices.DeleteFunc(failures, func(err error) bool { return err == nil })
	if len(failures) == 0 || ctx.Err() != nil {
		return
	}
	logger := log.FromContext(ctx).WithValues("count", len(failures))
	if slices.ContainsFunc(failures, apierrors.IsForbidden) {
		logger = logger.WithValues("remedy", grant)
	}
	logger.Error(errors.Join(failures[:min(logged, len(failures))]...), "Steps of maintenances failed; trying again")
}
