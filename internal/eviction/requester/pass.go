// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// lateAfter is the maximum wait for a late watch. The watch wakes the event earlier.
const lateAfter = time.Second

var (
	// errTaken means that a request exists which the watch has not shown.
	errTaken = errors.New("an EvictionRequest of that name exists")
	// errUnseen means that the event exists, and the cache has not shown it.
	errUnseen = errors.New("the event exists, and the cache does not show it yet")
)

// Reconcile performs steps for an event.
func (r *Requester) Reconcile(ctx context.Context, event types.UID) (reconcile.Result, error) {
	began := r.Clock.Now()
	failures := r.settle(ctx, event)
	if ctx.Err() != nil {
		return reconcile.Result{}, nil //nolint:nilerr // the process ends, which is no failure
	}
	// Waits may have ended during this pass.
	r.loop.AddAt(event, r.memory.due(event, began))
	err := summary(failures)
	if err == nil && len(failures) > 0 {
		r.loop.AddAt(event, r.Clock.Now().Add(lateAfter))
	}
	return reconcile.Result{}, err
}

// pass has the API server's answers in one pass for an event, and the failed steps, which the pass does not repeat.
type pass struct {
	mu       sync.Mutex
	seen     map[podReference]Seen
	gone     bool // the event
	refused  []Refuse
	failed   map[attempt]bool
	failures []error
}

// attempt identifies a step of an event.
type attempt struct {
	kind string
	pod  podReference
}

func attemptOf(step Step) attempt { return attempt{fmt.Sprintf("%T", step), step.pod()} }

func newPass() *pass { return &pass{seen: map[podReference]Seen{}, failed: map[attempt]bool{}} }

// record records the error of a step, if it has one.
func (p *pass) record(step Step, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.failed[attemptOf(step)] = true
		p.failures = append(p.failures, err)
	}
}

// others returns the steps that have not failed.
func (p *pass) others(steps []Step) []Step {
	return slices.DeleteFunc(steps, func(s Step) bool { return p.failed[attemptOf(s)] })
}

// settle performs steps for an event until all remaining steps have failed. A failed step delays no other step.
func (r *Requester) settle(ctx context.Context, event types.UID) (failures []error) {
	p := newPass()
	defer func() { logRefused(ctx, p.refused) }()
	for ctx.Err() == nil {
		facts, err := r.gather(ctx, event, p)
		if err != nil {
			return append(p.failures, err)
		}
		r.memory.keep(event, facts.named())
		steps := p.others(Next(facts, r.Clock.Now()))
		if len(steps) == 0 {
			return p.failures
		}
		var running errgroup.Group
		running.SetLimit(sideBySide)
		for _, step := range steps {
			running.Go(func() error {
				p.record(step, r.perform(ctx, facts, step, p))
				return nil
			})
		}
		_ = running.Wait() // the pass has the errors
	}
	return []error{context.Cause(ctx)}
}

// gather returns the facts about an event.
func (r *Requester) gather(ctx context.Context, event types.UID, p *pass) (Facts, error) {
	var events lifecyclev1alpha1.LifecycleEventList
	if err := r.Events.List(ctx, &events, client.MatchingFields{eventUID: string(event)}); err != nil {
		return Facts{}, fmt.Errorf("find the event with UID %s: %w", event, err)
	}
	requests, err := r.requests.ByIndex(byEvent, string(event))
	if err != nil {
		return Facts{}, err
	}
	f := Facts{UID: event, Requests: requests, Seen: maps.Clone(p.seen), Confirmed: p.gone, Notes: r.memory.of(event)}
	if len(events.Items) > 0 {
		f.Event = &events.Items[0]
	}
	return f, nil
}

// perform performs a step.
func (r *Requester) perform(ctx context.Context, facts Facts, step Step, p *pass) error {
	switch s := step.(type) {
	case Confirm:
		return r.confirm(ctx, facts, p)
	case Look:
		return r.look(ctx, facts.Event, s.Pod, p)
	case Refuse:
		r.memory.settle(s.Event.UID, s.Pod)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.refused = append(p.refused, s)
		return nil
	case Wait:
		r.memory.wait(facts.UID, s, r.Clock.Now())
		return nil
	case Ask:
		return r.create(ctx, s.Request)
	case Withdraw:
		return r.withdraw(ctx, s.Request)
	case Delete:
		return r.delete(ctx, facts.UID, s.Request)
	default:
		return fmt.Errorf("%T is not a step to perform", step)
	}
}

// confirm looks for the event at the API server, under the name that its requests carry.
func (r *Requester) confirm(ctx context.Context, facts Facts, p *pass) error {
	i := slices.IndexFunc(facts.Requests, func(request *evictionv1alpha1.EvictionRequest) bool {
		return request.Annotations[AnnotationEvent] != ""
	})
	if i >= 0 {
		name := facts.Requests[i].Annotations[AnnotationEvent]
		var e lifecyclev1alpha1.LifecycleEvent
		switch err := r.Live.Get(ctx, client.ObjectKey{Name: name}, &e); {
		case err == nil && e.UID == facts.UID:
			return errUnseen
		case client.IgnoreNotFound(err) != nil:
			return fmt.Errorf("read event %s: %w", name, err)
		}
	}
	p.gone = true
	return nil
}

// look reads a pod from the API server, and finds out whether it has responders.
func (r *Requester) look(ctx context.Context, e *lifecyclev1alpha1.LifecycleEvent, named podReference, p *pass) error {
	var seen Seen
	pod, err := r.clients.CoreV1().Pods(named.Namespace).Get(ctx, named.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		seen = Seen{Pod: pod, Responders: true}
	case !apierrors.IsNotFound(err):
		return fmt.Errorf("read pod %s/%s: %w", named.Namespace, named.Name, err)
	}
	if refuse(e, named, seen.Pod) == nil && !wantsAll(e) {
		if seen.Responders, err = r.Responds(ctx, pod); err != nil {
			return fmt.Errorf("find the responders of pod %s/%s: %w", named.Namespace, named.Name, err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen[named] = seen
	return nil
}

func (r *Requester) create(ctx context.Context, request *evictionv1alpha1.EvictionRequest) error {
	created, err := r.clients.LifecycleV1alpha1().EvictionRequests(request.Namespace).Create(ctx, request, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = errTaken
	}
	if err != nil {
		return fmt.Errorf("create EvictionRequest %s/%s: %w", request.Namespace, request.Name, err)
	}
	r.requests.Keep(created)
	faultpoint.Reach(faultpoint.PodRequested)
	return nil
}

func (r *Requester) withdraw(ctx context.Context, request *evictionv1alpha1.EvictionRequest) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": request.UID}, // another request may have the name
		"spec":     map[string]any{"intent": evictionv1alpha1.EvictionRequestIntentWithdrawn},
	})
	if err != nil {
		return fmt.Errorf("encode the withdrawal of an EvictionRequest: %w", err)
	}
	withdrawn, err := r.clients.LifecycleV1alpha1().EvictionRequests(request.Namespace).
		Patch(ctx, request.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if isGone(err) {
		r.requests.Deleted(request)
		return nil
	}
	if err != nil {
		return fmt.Errorf("withdraw EvictionRequest %s/%s: %w", request.Namespace, request.Name, err)
	}
	r.requests.Keep(withdrawn)
	faultpoint.Reach(faultpoint.RequestWithdrawn)
	return nil
}

func (r *Requester) delete(ctx context.Context, event types.UID, request *evictionv1alpha1.EvictionRequest) error {
	err := r.clients.LifecycleV1alpha1().EvictionRequests(request.Namespace).Delete(ctx, request.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(request.UID))})
	if err != nil && !isGone(err) {
		return fmt.Errorf("delete EvictionRequest %s/%s: %w", request.Namespace, request.Name, err)
	}
	if evicted(request) {
		r.memory.settle(event, subject(request)) // the event may name it for a moment longer
	}
	r.requests.Deleted(request)
	faultpoint.Reach(faultpoint.RequestDeleted)
	return nil
}

// isGone reports whether the object no longer exists; another object may have its name.
func isGone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

// shown limits the pods or errors in a log line: a node determines their number, and may lie.
const shown = 5

// logRefused logs the refused pods of a pass in one line.
func logRefused(ctx context.Context, refused []Refuse) {
	if len(refused) == 0 {
		return
	}
	lies := slices.DeleteFunc(slices.Clone(refused), func(s Refuse) bool { return !s.Lies })
	e := refused[0].Event
	logger := log.FromContext(ctx).WithValues("event", e.Name, "node", e.Spec.BindingNode)
	if len(lies) == 0 {
		logger.V(1).Info("Some pods get no EvictionRequest", "count", len(refused), "pods", texts(refused))
		return
	}
	logger.Error(errors.New("the event names pods that no drain of its node evicts"),
		"Refused to request the eviction of pods: the node may be compromised", "count", len(lies), "pods", texts(lies))
}

func texts(refused []Refuse) []string {
	var all []string
	for _, s := range refused[:min(shown, len(refused))] {
		all = append(all, fmt.Sprintf("%.63s/%.253s (UID %.*s): %s", s.Pod.Namespace, s.Pod.Name, maxUID, s.Pod.UID, s.Why))
	}
	return all
}

// summary returns an error for the failures of a pass that a late watch does not explain; nil without such failures.
func summary(failures []error) error {
	failures = slices.DeleteFunc(slices.Clone(failures), func(err error) bool {
		return errors.Is(err, errTaken) || errors.Is(err, errUnseen)
	})
	if len(failures) == 0 {
		return nil
	}
	return fmt.Errorf("%d steps failed: %w", len(failures), errors.Join(failures[:min(shown, len(failures))]...))
}
