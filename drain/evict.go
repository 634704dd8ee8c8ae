// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
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
