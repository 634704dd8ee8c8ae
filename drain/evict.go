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

// evictor sends evictions, and the deletions of an Escalation: the only writes of this package.
type evictor struct {
	// throttle waits for the client's own rate limit.
	throttle func(context.Context) error
	// post sends one eviction and does not repeat it.
	post func(context.Context, *policyv1.Eviction) error
	// erase sends one deletion and does not repeat it.
	erase   func(context.Context, *corev1.Pod, *metav1.DeleteOptions) error
	timeout time.Duration
}

// newEvictor takes the client apart: its ready-made method would repeat a refused request up to ten times whenever the
// server names a time to wait, and would do so, and wait for its rate limit, out of our sight.
func newEvictor(client corev1client.CoreV1Interface, timeout time.Duration) evictor {
	rc := client.RESTClient()
	if !isReal(rc) {
		return evictor{
			throttle: func(context.Context) error { return nil },
			post: func(ctx context.Context, e *policyv1.Eviction) error {
				return client.Pods(e.Namespace).EvictV1(ctx, e)
			},
			erase: func(ctx context.Context, pod *corev1.Pod, options *metav1.DeleteOptions) error {
				return client.Pods(pod.Namespace).Delete(ctx, pod.Name, *options)
			},
			timeout: timeout,
		}
	}
	return evictor{
		throttle: func(ctx context.Context) error {
			if limiter := rc.GetRateLimiter(); limiter != nil {
				return limiter.Wait(ctx)
			}
			return nil
		},
		post: func(ctx context.Context, e *policyv1.Eviction) error {
			return rc.Post().Namespace(e.Namespace).Resource("pods").Name(e.Name).SubResource("eviction").
				Throttle(nil).MaxRetries(0).Body(e).Do(ctx).Error()
		},
		erase: func(ctx context.Context, pod *corev1.Pod, options *metav1.DeleteOptions) error {
			return rc.Delete().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).
				Throttle(nil).MaxRetries(0).Body(options).Do(ctx).Error()
		},
		timeout: timeout,
	}
}

// isReal tells a client of an API server from a fake clientset, which has no REST client.
func isReal(client rest.Interface) bool {
	c, ok := client.(*rest.RESTClient)
	return client != nil && (!ok || c != nil)
}

// evict sends one eviction. It is sent only while live lasts; once sent, it ends with wire or at its timeout.
func (e evictor) evict(live, wire context.Context, pod *corev1.Pod, grace *int64) error {
	return e.send(live, wire, func(ctx context.Context) error {
		return e.post(ctx, &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
			DeleteOptions: exactly(pod, grace),
		})
	})
}

// remove sends one deletion, in the same way. Budgets are not asked.
func (e evictor) remove(live, wire context.Context, pod *corev1.Pod, grace *int64) error {
	return e.send(live, wire, func(ctx context.Context) error { return e.erase(ctx, pod, exactly(pod, grace)) })
}

func (e evictor) send(live, wire context.Context, request func(context.Context) error) error {
	if err := e.queue(live); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(wire, e.timeout)
	defer cancel()
	return request(ctx)
}

// queue waits for the client's own rate limit while live lasts. A limiter gives up at once where it sees a deadline that
// comes before its turn, and would be asked again at once, without a pause, until the deadline. So it is shown none: who
// has little time waits like all others until that is over.
func (e evictor) queue(live context.Context) error {
	turn, stop := context.WithCancel(context.WithoutCancel(live))
	defer stop()
	defer context.AfterFunc(live, stop)()
	err := e.throttle(turn)
	switch {
	case live.Err() != nil:
		return errNotSent
	case err != nil: // a limiter that lets nothing through; it is asked again after a pause
		return fmt.Errorf("the client's own rate limit: %w", err)
	default:
		return nil
	}
}

// exactly names the UID: the server must not end another pod that has got the same name meanwhile. A grace period of 0
// would take the pod away before its containers have ended.
func exactly(pod *corev1.Pod, grace *int64) *metav1.DeleteOptions {
	if own := pod.Spec.TerminationGracePeriodSeconds; grace == nil && own != nil && *own == 0 {
		grace = new(int64(1))
	}
	return &metav1.DeleteOptions{
		GracePeriodSeconds: grace,
		Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
	}
}

// outcome sorts the answers to an eviction by what to do next.
type outcome int

const (
	// notSent: the drain ended before the request left, or before it was answered, or nothing was ever sent.
	notSent outcome = iota
	// accepted: wait for the pod to go.
	accepted
	// vanished: there is no such pod any more; the watch will say so.
	vanished
	// budgetRefused: wait for the budget to change.
	budgetRefused
	// namespaceEnding: the namespace takes no evictions; its own deletion removes the pod.
	namespaceEnding
	// refused: back off for this pod.
	refused
	// overloaded: back off for the whole drain, as long as the server says.
	overloaded
	// unavailable: back off for the whole drain.
	unavailable
)

type answer struct {
	outcome    outcome
	refusal    *obstacle
	retryAfter time.Duration
}

// errNotSent is what evict returns if the drain ended before the request left.
var errNotSent = errors.New("not sent: the drain has ended")

// interpret sorts the error of an eviction of pod. The guards are the budgets that we believe to be asked.
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
		return answer{outcome: refused, refusal: &obstacle{reason: EvictionTimedOut, message: EvictionTimedOut.advise(fmt.Sprintf(
			"the server did not finish the eviction in time (%s)", brief(err)))}}
	case !errors.As(err, &status):
		return away(err)
	case isDenial(err):
		return refusedFor(err)
	case apierrors.IsConflict(err) && kindOf(err) == "poddisruptionbudgets":
		return answer{outcome: budgetRefused, refusal: &obstacle{reason: EvictionTimedOut, message: fmt.Sprintf("the server gave up: "+
			"many write the pod's disruption budget at the same time (%s); it is tried again when the budget changes", brief(err))}}
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		// This conflict is our precondition: another pod has that name now.
		return answer{outcome: vanished}
	case apierrors.HasStatusCause(err, policyv1.DisruptionBudgetCause):
		// 429, and 403 where the budget's status makes no sense.
		return answer{outcome: budgetRefused, refusal: refusedByBudget(err, guards)}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return answer{outcome: namespaceEnding, refusal: &obstacle{NamespaceTerminating, pod.Namespace, NamespaceTerminating.advise(
			"namespace " + pod.Namespace + " is being deleted and takes no evictions; its deletion removes the pod")}}
	case apierrors.IsTooManyRequests(err):
		return answer{outcome: overloaded, retryAfter: suggested(err), refusal: &obstacle{
			reason: APIServerOverloaded, message: APIServerOverloaded.advise("the API server asks to send less, so evictions pause"),
		}}
	case apierrors.IsServiceUnavailable(err), apierrors.IsServerTimeout(err):
		return away(err)
	default:
		return refusedFor(err)
	}
}

// neverLeft reports that there was no connection on which to send. That may have taken too long, too, but says nothing of the
// eviction.
func neverLeft(err error) bool {
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && (op.Op == "dial" || op.Op == "proxyconnect")
}

func refusedFor(err error) answer {
	return answer{outcome: refused, refusal: &obstacle{reason: EvictionRefused, message: EvictionRefused.advise(
		"the server refuses the eviction: " + brief(err))}}
}

// isDenial tells the answer of an admission webhook, which may have any code: 429 of one of them is not the server's. The
// words are those of ToStatusErr in k8s.io/apiserver/pkg/admission/plugin/webhook/errors.
func isDenial(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "admission webhook ") && strings.Contains(text, " denied the request")
}

// kindOf is the resource that the server's answer is about.
func kindOf(err error) string {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return ""
	}
	return status.Status().Details.Kind
}

// interpretDeletion sorts the error of a deletion.
func interpretDeletion(err error, pod *corev1.Pod) answer {
	a := interpret(err, pod, nil)
	if a.outcome == refused && a.refusal.reason == EvictionRefused {
		a.refusal = &obstacle{reason: DeletionRefused, message: DeletionRefused.advise(fmt.Sprintf("the server refuses the deletion that "+
			"follows after evictions that led to nothing: %s; it is tried again with growing pauses", brief(err)))}
	}
	return a
}

func away(err error) answer {
	return answer{outcome: unavailable, refusal: &obstacle{reason: APIServerUnavailable, message: APIServerUnavailable.advise(fmt.Sprintf(
		"the API server cannot be reached or cannot serve (%s); it is tried again until it can", brief(err)))}}
}

// refusedByBudget explains a refusal that the budget as we know it does not explain.
func refusedByBudget(err error, guards []*budget) *obstacle {
	o := &obstacle{reason: BudgetExhausted, message: "the server refuses the eviction for the sake of a disruption budget: " +
		causeMessage(err) + "; it is tried again when the budget changes"}
	if len(guards) == 1 {
		o.by = guards[0].Name
	}
	return o
}

func causeMessage(err error) string {
	status := apierrors.APIStatus(nil)
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if cause.Type == policyv1.DisruptionBudgetCause {
				return cause.Message
			}
		}
	}
	return brief(err)
}

// brief keeps a message that somebody else wrote from filling ours, and leaves out the address of the request, which
// says nothing and is another one each time.
func brief(err error) string {
	const enough = 400
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	text := err.Error()
	if len(text) <= enough {
		return text
	}
	return strings.ToValidUTF8(text[:enough], "") + "…"
}

func suggested(err error) time.Duration {
	seconds, _ := apierrors.SuggestsClientDelay(err)
	return time.Duration(seconds) * time.Second
}
