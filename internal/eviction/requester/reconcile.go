// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"context"
	"fmt"
	"maps"
	"sync"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// reconcile does steps for an event until there is none but such as have failed. One that
// fails holds up none of the others.
func (r *Requester) reconcile(ctx context.Context, event types.UID) (failures []error) {
	looked, tried := &looked{seen: map[lifecyclev1alpha1.PodReference]Seen{}}, newTried()
	defer func() { tellRefused(ctx, looked.refused) }()
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

// performAll does steps side by side.
func (r *Requester) performAll(ctx context.Context, facts Facts, steps []Step, looked *looked, tried *tried) {
	errs := make([]error, len(steps))
	limit := make(chan struct{}, sideBySide)
	var running sync.WaitGroup
	for i, step := range steps {
		limit <- struct{}{}
		running.Go(func() {
			errs[i] = r.perform(ctx, facts, step, looked)
			<-limit
		})
	}
	running.Wait()
	for i, step := range steps {
		tried.note(step, errs[i])
	}
}

// looked is what the API server has said in a pass, and what was refused for it.
type looked struct {
	mu      sync.Mutex
	seen    map[lifecyclev1alpha1.PodReference]Seen
	refused []Refuse
	gone    bool // the event
}

func (l *looked) refuse(s Refuse) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = append(l.refused, s)
}

// gather is what is known of an event.
func (r *Requester) gather(ctx context.Context, event types.UID, looked *looked) (Facts, error) {
	var events lifecyclev1alpha1.LifecycleEventList
	if err := r.events.List(ctx, &events, client.MatchingFields{eventUID: string(event)}); err != nil {
		return Facts{}, fmt.Errorf("look for the event with UID %s: %w", event, err)
	}
	shown := r.requests.GetIndexer().LastStoreSyncResourceVersion()
	objects, err := r.requests.GetIndexer().ByIndex(byEvent, string(event))
	if err != nil {
		return Facts{}, err
	}
	requests := make([]*evictionv1alpha1.EvictionRequest, 0, len(objects))
	for _, o := range objects {
		requests = append(requests, o.(*evictionv1alpha1.EvictionRequest))
	}
	f := Facts{
		UID: event, Requests: r.written.newest(event, shown, requests),
		Seen: maps.Clone(looked.seen), Confirmed: looked.gone,
	}
	f.Settled, f.Waits = r.pods.of(event, r.clock.Now())
	if len(events.Items) > 0 {
		f.Event = &events.Items[0]
	}
	return f, nil
}

// look asks the API server for a pod, and whether anybody responds for it.
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

// confirm asks the API server for the event by the name that its requests have noted.
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
