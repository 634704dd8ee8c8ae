// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// lateAfter is how long a late watch is waited for. It wakes the event when it shows something.
const lateAfter = time.Second

// Reconcile performs steps for an event.
func (r *Requester) Reconcile(ctx context.Context, event types.UID) (reconcile.Result, error) {
	began := r.clock.Now()
	failures := r.settle(ctx, event)
	if ctx.Err() != nil {
		return reconcile.Result{}, nil //nolint:nilerr // the process ends, which is no failure
	}
	// This pass may have missed the end of a wait that ended while it went on.
	r.loop.AddAt(event, r.pods.due(event, began))
	err := summary(failures)
	if err == nil && len(failures) > 0 {
		r.loop.AddAt(event, r.clock.Now().Add(lateAfter))
	}
	return reconcile.Result{}, err
}

// settle performs steps for an event until only such are left that have failed. One that fails delays no
// other.
func (r *Requester) settle(ctx context.Context, event types.UID) (failures []error) {
	looked, tried := &looked{seen: map[lifecyclev1alpha1.PodReference]Seen{}}, newTried()
	defer func() { logRefused(ctx, looked.refused) }()
	for ctx.Err() == nil {
		facts, err := r.gather(ctx, event, looked)
		if err != nil {
			return append(tried.failures, err)
		}
		r.pods.keep(event, facts.named())
		steps := tried.others(Next(facts))
		if len(steps) == 0 {
			return tried.failures
		}
		r.performAll(ctx, facts, steps, looked, tried)
	}
	return []error{context.Cause(ctx)}
}

// performAll performs steps side by side.
func (r *Requester) performAll(ctx context.Context, facts Facts, steps []Step, looked *looked, tried *tried) {
	errs := make([]error, len(steps))
	var running errgroup.Group
	running.SetLimit(sideBySide)
	for i, step := range steps {
		running.Go(func() error {
			errs[i] = r.perform(ctx, facts, step, looked)
			return nil
		})
	}
	_ = running.Wait() // each has its own error
	for i, step := range steps {
		tried.record(step, errs[i])
	}
}

// looked is what the API server has said in a pass, and what was refused because of it.
type looked struct {
	mu      sync.Mutex
	seen    map[lifecyclev1alpha1.PodReference]Seen
	refused []Refuse
	gone    bool // the event
}

func (l *looked) see(pod lifecyclev1alpha1.PodReference, seen Seen) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[pod] = seen
}

func (l *looked) refuse(s Refuse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = append(l.refused, s)
}

// gather returns what is known of an event.
func (r *Requester) gather(ctx context.Context, event types.UID, looked *looked) (Facts, error) {
	var events lifecyclev1alpha1.LifecycleEventList
	if err := r.events.List(ctx, &events, client.MatchingFields{eventUID: string(event)}); err != nil {
		return Facts{}, fmt.Errorf("look for the event with UID %s: %w", event, err)
	}
	requests, err := r.written.ByIndex(r.requests.GetIndexer(), byEvent, string(event))
	if err != nil {
		return Facts{}, err
	}
	f := Facts{UID: event, Requests: requests, Seen: maps.Clone(looked.seen), Confirmed: looked.gone}
	f.Settled, f.Waits = r.pods.of(event, r.clock.Now())
	if len(events.Items) > 0 {
		f.Event = &events.Items[0]
	}
	return f, nil
}

// look reads a pod from the API server, and finds out whether it has responders.
func (r *Requester) look(ctx context.Context, e *lifecyclev1alpha1.LifecycleEvent, named lifecyclev1alpha1.PodReference) (Seen, error) {
	pod, err := r.clients.CoreV1().Pods(named.Namespace).Get(ctx, named.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return Seen{}, nil
	}
	if err != nil {
		return Seen{}, fmt.Errorf("read pod %s/%s: %w", named.Namespace, named.Name, err)
	}
	if refuse(e, named, pod) != nil || asksForAll(e) {
		return Seen{Pod: pod, Responders: true}, nil
	}
	responders, err := r.responds(ctx, pod)
	if err != nil {
		return Seen{}, fmt.Errorf("find who responds for pod %s/%s: %w", named.Namespace, named.Name, err)
	}
	return Seen{Pod: pod, Responders: responders}, nil
}

// confirm looks for the event at the API server, under the name that its requests carry.
func (r *Requester) confirm(ctx context.Context, facts Facts) (gone bool, err error) {
	for _, request := range facts.Requests {
		name := request.Annotations[AnnotationEvent]
		if name == "" {
			continue
		}
		var e lifecyclev1alpha1.LifecycleEvent
		err := r.live.Get(ctx, client.ObjectKey{Name: name}, &e)
		switch {
		case err == nil && e.UID == facts.UID:
			return false, nil
		case client.IgnoreNotFound(err) != nil:
			return false, fmt.Errorf("read event %s: %w", name, err)
		}
		return true, nil
	}
	return true, nil
}

// tried are the steps of a pass that have failed. The pass does not try them again.
type tried struct {
	steps    map[attempt]bool
	failures []error
}

// attempt identifies a step of an event.
type attempt struct {
	kind string
	pod  lifecyclev1alpha1.PodReference
}

func newTried() *tried { return &tried{steps: map[attempt]bool{}} }

// record keeps a step if it has failed.
func (t *tried) record(step Step, err error) {
	if err != nil {
		t.steps[attemptOf(step)] = true
		t.failures = append(t.failures, err)
	}
}

// others returns the steps that have not failed.
func (t *tried) others(steps []Step) []Step {
	return slices.DeleteFunc(steps, func(s Step) bool { return t.steps[attemptOf(s)] })
}

func attemptOf(step Step) attempt { return attempt{fmt.Sprintf("%T", step), step.pod()} }

// shown is how many pods or errors a log line names: the node says how many there are, and it may lie.
const shown = 5

// logRefused logs in one line what a pass has refused.
func logRefused(ctx context.Context, refused []Refuse) {
	if len(refused) == 0 {
		return
	}
	lies := slices.DeleteFunc(slices.Clone(refused), func(s Refuse) bool { return !s.Lies })
	e := refused[0].Event
	logger := log.FromContext(ctx).WithValues("event", e.Name, "node", e.Spec.BindingNode)
	if len(lies) == 0 {
		logger.V(1).Info("Does not ask for the eviction of pods", "count", len(refused), "pods", texts(refused))
		return
	}
	logger.Error(errors.New("the event names pods that no drain of its node evicts"),
		"Refused to ask for the eviction of pods: the node may be compromised", "count", len(lies), "pods", texts(lies))
}

func texts(refused []Refuse) []string {
	var all []string
	for _, s := range refused[:min(shown, len(refused))] {
		all = append(all, fmt.Sprintf("%.63s/%.253s (UID %.*s): %s", s.Pod.Namespace, s.Pod.Name, maxUID, s.Pod.UID, s.Why))
	}
	return all
}

// summary returns an error for those of a pass which a late watch does not explain; nil if there are none.
func summary(failures []error) error {
	failures = slices.DeleteFunc(slices.Clone(failures), func(err error) bool {
		return errors.Is(err, errTaken) || errors.Is(err, errUnseen)
	})
	if len(failures) == 0 {
		return nil
	}
	return fmt.Errorf("%d steps failed: %w", len(failures), errors.Join(failures[:min(shown, len(failures))]...))
}
