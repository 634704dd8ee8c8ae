// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// evictor sends evictions, and the deletions of an Escalation: the only writes of this package. It does not use the client's
// method for evictions, which repeats a refused request up to ten times whenever the server names a pause: pauses, and the
// wait for the client's rate limit, belong to this package.
type evictor struct {
	client  corev1client.CoreV1Interface
	timeout time.Duration
	// throttle waits for the client's rate limit.
	throttle func(context.Context) error
	// post sends one eviction, once.
	post func(context.Context, *policyv1.Eviction) error
}

func newEvictor(client corev1client.CoreV1Interface, timeout time.Duration) evictor {
	e := evictor{
		client: client, timeout: timeout,
		throttle: func(context.Context) error { return nil },
		post:     func(ctx context.Context, e *policyv1.Eviction) error { return client.Pods(e.Namespace).EvictV1(ctx, e) },
	}
	rc := client.RESTClient()
	if !isReal(rc) {
		return e
	}
	if limiter := rc.GetRateLimiter(); limiter != nil {
		e.throttle = limiter.Wait
	}
	e.post = func(ctx context.Context, e *policyv1.Eviction) error {
		return rc.Post().Namespace(e.Namespace).Resource("pods").Name(e.Name).SubResource("eviction").
			Throttle(nil).MaxRetries(0).Body(e).Do(ctx).Error()
	}
	return e
}

// isReal reports whether the client is one of an API server. A fake clientset has no REST client.
func isReal(client rest.Interface) bool {
	c, ok := client.(*rest.RESTClient)
	return client != nil && (!ok || c != nil)
}

// evict sends one eviction. It begins only while live lasts; it ends with wire, or at its timeout.
func (e evictor) evict(live, wire context.Context, pod *corev1.Pod, grace *int64) error {
	return e.send(live, wire, func(ctx context.Context) error {
		return e.post(ctx, &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			DeleteOptions: exactly(pod, grace),
		})
	})
}

// remove sends one deletion, in the same way. It overrides budgets.
func (e evictor) remove(live, wire context.Context, pod *corev1.Pod, grace *int64) error {
	options := exactly(pod, grace)
	return e.send(live, wire, func(ctx context.Context) error {
		rc := e.client.RESTClient()
		if !isReal(rc) {
			return e.client.Pods(pod.Namespace).Delete(ctx, pod.Name, *options)
		}
		return rc.Delete().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).
			Throttle(nil).MaxRetries(0).Body(options).Do(ctx).Error()
	})
}

func (e evictor) send(live, wire context.Context, request func(context.Context) error) error {
	if err := e.queue(live); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(wire, e.timeout)
	defer cancel()
	return request(ctx)
}

// queue waits for the client's rate limit while live lasts. It hides the deadline of live from the limiter: a limiter gives up
// at once if a deadline comes before its slot, and the next request would fail in the same way, without a pause, until the
// deadline.
func (e evictor) queue(live context.Context) error {
	slot, stop := context.WithCancel(context.WithoutCancel(live))
	defer stop()
	defer context.AfterFunc(live, stop)()
	err := e.throttle(slot)
	switch {
	case live.Err() != nil:
		return errNotSent
	case err != nil: // a limiter that refuses all requests; the drain tries again after a pause
		return fmt.Errorf("the client's own rate limit: %w", err)
	default:
		return nil
	}
}

// exactly names the UID: the server must not end another pod of the same name. A grace period of 0 would delete the pod before
// its containers have ended.
func exactly(pod *corev1.Pod, grace *int64) *metav1.DeleteOptions {
	if grace == nil && graceOf(pod) == 0 {
		grace = new(int64(1))
	}
	return &metav1.DeleteOptions{
		GracePeriodSeconds: grace,
		Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
	}
}

// outcome sorts the answers to an eviction by the next action.
type outcome int

const (
	// notSent: the drain ended before the request left, or before its answer; or no request was ever sent.
	notSent outcome = iota
	// accepted: wait for the end of the pod.
	accepted
	// vanished: the pod does not exist; the watch will show that.
	vanished
	// budgetRefused: wait for a change of the budget.
	budgetRefused
	// namespaceEnding: the namespace accepts no evictions; its own deletion removes the pod.
	namespaceEnding
	// refused: back off for this pod.
	refused
	// overloaded: back off for the whole drain, as the server requests.
	overloaded
	// unavailable: back off for the whole drain.
	unavailable
)

type answer struct {
	outcome    outcome
	refusal    *obstacle
	retryAfter time.Duration
}

// errNotSent: the drain ended before the request left.
var errNotSent = errors.New("not sent: the drain has ended")

// interpret sorts the error of an eviction of pod. The guards are the budgets that the server consults, as far as known.
func interpret(err error, pod *corev1.Pod, guards []*budget) answer {
	status := apierrors.APIStatus(nil)
	switch {
	case err == nil:
		return answer{outcome: accepted}
	case errors.Is(err, errNotSent):
		return answer{outcome: notSent}
	case neverLeft(err):
		return away(err)
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err):
		return answer{outcome: refused, refusal: EvictionTimedOut.obstacle("", "the server did not finish the eviction in time (%s)", brief(err))}
	case !errors.As(err, &status):
		return away(err)
	case isDenial(err):
		return refusedFor(err)
	case apierrors.IsConflict(err) && kindOf(status) == "poddisruptionbudgets":
		return answer{outcome: budgetRefused, refusal: &obstacle{reason: EvictionTimedOut, message: fmt.Sprintf("the server gave up: "+
			"many write the pod's disruption budget at the same time (%s); the drain tries again when the budget changes", brief(err))}}
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		// This conflict is our precondition: another pod has that name now.
		return answer{outcome: vanished}
	case apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause):
		// 429, or 403 if the budget's status makes no sense.
		return answer{outcome: budgetRefused, refusal: refusedByBudget(err, guards)}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return answer{outcome: namespaceEnding, refusal: NamespaceTerminating.obstacle(pod.Namespace,
			"namespace %s is being deleted and accepts no evictions; its deletion removes the pod", pod.Namespace)}
	case apierrors.IsTooManyRequests(err):
		seconds, _ := apierrors.SuggestsClientDelay(err)
		return answer{outcome: overloaded, retryAfter: time.Duration(seconds) * time.Second, refusal: APIServerOverloaded.obstacle("",
			"the API server requests fewer requests, so evictions pause")}
	case apierrors.IsServiceUnavailable(err), apierrors.IsServerTimeout(err):
		return away(err)
	default:
		return refusedFor(err)
	}
}

// neverLeft reports a failed connection: the server has received no request. The attempt to connect can also take too long.
func neverLeft(err error) bool {
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
}

func refusedFor(err error) answer {
	return answer{outcome: refused, refusal: EvictionRefused.obstacle("", "the server refuses the eviction: %s", brief(err))}
}

// isDenial reports an answer of an admission webhook, which may have any code: its 429 is not the server's. The words are from
// ToStatusErr in k8s.io/apiserver/pkg/admission/plugin/webhook/errors.
func isDenial(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "admission webhook ") && strings.Contains(text, " denied the request")
}

// kindOf returns the resource in the server's answer.
func kindOf(s apierrors.APIStatus) string {
	if d := s.Status().Details; d != nil {
		return d.Kind
	}
	return ""
}

// interpretDeletion sorts the error of a deletion.
func interpretDeletion(err error, pod *corev1.Pod) answer {
	a := interpret(err, pod, nil)
	if a.outcome == refused && a.refusal.reason == EvictionRefused {
		a.refusal = DeletionRefused.obstacle("", "the server refuses the deletion that follows after evictions without effect: %s; the "+
			"drain tries again with growing pauses", brief(err))
	}
	return a
}

func away(err error) answer {
	return answer{outcome: unavailable, refusal: APIServerUnavailable.obstacle("",
		"the API server cannot be reached or cannot serve (%s); the drain tries again until it can", brief(err))}
}

// refusedByBudget explains a refusal that the known status of the budget does not explain.
func refusedByBudget(err error, guards []*budget) *obstacle {
	cause, _ := apierrors.StatusCause(err, policyv1.DisruptionBudgetCause)
	o := &obstacle{reason: BudgetExhausted, message: "the server refuses the eviction because of a disruption budget: " +
		cause.Message + "; the drain tries again when the budget changes"}
	if len(guards) == 1 {
		o.by = guards[0].Name
	}
	return o
}

// brief shortens an error of another program, and drops the address of the request, which differs each time.
func brief(err error) string {
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return shorten(err.Error(), 400)
}

// shorten limits the length of a text.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
