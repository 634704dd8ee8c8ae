// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/maintenance"
)

const (
	// The backoff of a step that fails.
	failedBase = 250 * time.Millisecond
	failedCap  = 30 * time.Second
	// told is how many errors are told of in a line of the log.
	told = 5
)

// errNotTried means that a step has failed, and that it is not time yet to try it again.
var errNotTried = errors.New("it is not time yet to try it again")

// grant is what helps when a right is missing.
const grant = "A right is missing, or a policy is in the way: config/rbac/controller.yaml has the rights of the controller " +
	"(ClusterRole slipway-controller, and Role slipway-controller in Slipway's namespace); apply that of this version"

// failed are the steps that have failed, and when each is tried again.
type failed struct {
	clock clock.PassiveClock
	steps map[string]failure
}

type failure struct {
	times int
	again time.Time
	// refusal is what the API server has against the step.
	refusal string
}

func newFailed(c clock.PassiveClock) *failed { return &failed{clock: c, steps: map[string]failure{}} }

// mayTry says whether a step has not failed, or it is time to try it again.
func (f *failed) mayTry(step any) bool {
	return !f.clock.Now().Before(f.steps[keyOf(step)].again)
}

// note takes in how the steps of a pass went, and logs what has failed, in one line. What
// is not a step any more is forgotten.
func (f *failed) note(ctx context.Context, steps []maintenance.Step, errs []error) {
	wanted, failures := map[string]bool{}, []error{}
	for i, step := range steps {
		wanted[keyOf(step)] = true
		if err := f.take(step, errs[i]); err != nil {
			failures = append(failures, err)
		}
	}
	for key, failure := range f.steps {
		if !wanted[key] && !ofStatus(key) && !f.clock.Now().Before(failure.again) {
			delete(f.steps, key)
		}
	}
	tell(ctx, failures)
}

// noteOne takes in how one step went.
func (f *failed) noteOne(ctx context.Context, step any, err error) {
	if err = f.take(step, err); err != nil {
		tell(ctx, []error{err})
	}
}

// take returns what is to be told of.
func (f *failed) take(step any, err error) error {
	key := keyOf(step)
	switch {
	case errors.Is(err, errNotTried):
		return nil
	case err == nil, errors.Is(err, errStale):
		delete(f.steps, key)
		return nil
	}
	n := f.steps[key].times
	f.steps[key] = failure{n + 1, f.clock.Now().Add(min(failedBase<<min(n, 10), failedCap)), refusalOf(err)}
	return err
}

// refusals are the steps that could not be done, by their keys, and why not. What can pass by
// itself, such as a server that is busy, is not among them.
func (f *failed) refusals() map[string]string {
	all := map[string]string{}
	for key, failure := range f.steps {
		if failure.refusal != "" && !ofStatus(key) {
			all[key] = failure.refusal
		}
	}
	return all
}

// refusalOf is what people have to know of an error; empty, if it may pass by itself.
func refusalOf(err error) string {
	for _, is := range []func(error) bool{isInTheWay, apierrors.IsForbidden, apierrors.IsInvalid, apierrors.IsBadRequest, apierrors.IsInternalError} {
		if is(err) {
			return err.Error()
		}
	}
	return ""
}

// forget is for a step that has nothing left to do.
func (f *failed) forget(step any) { delete(f.steps, keyOf(step)) }

// keep forgets the statuses of all maintenances but these: the others are gone.
func (f *failed) keep(statuses map[string]bool) {
	for key := range f.steps {
		if ofStatus(key) && !statuses[key] {
			delete(f.steps, key)
		}
	}
}

// ofStatuses is what the keys of statuses begin with.
const ofStatuses = "status "

// ofStatus says whether the key is that of a status, which is no step of a pass.
func ofStatus(key string) bool { return strings.HasPrefix(key, ofStatuses) }

// due is when the next step is tried again; zero: none has failed.
func (f *failed) due() (next time.Time) {
	for _, failure := range f.steps {
		next = earliest(next, failure.again)
	}
	return next
}

func tell(ctx context.Context, failures []error) {
	if len(failures) == 0 || ctx.Err() != nil {
		return
	}
	logger := log.FromContext(ctx).WithValues("count", len(failures))
	if slices.ContainsFunc(failures, apierrors.IsForbidden) {
		logger = logger.WithValues("remedy", grant)
	}
	logger.Error(errors.Join(failures[:min(told, len(failures))]...), "Steps of maintenances failed; trying again")
}

// keyOf tells steps apart, and the writes of statuses.
func keyOf(step any) string {
	switch s := step.(type) {
	case maintenance.Step:
		return maintenance.Key(s)
	case writeStatus:
		return ofStatuses + s.name
	default:
		panic(fmt.Sprintf("%T is neither a step nor a status", step))
	}
}
