// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
)

// evictor sends evictions: the only write of this package.
type evictor struct {
	// throttle waits for the client's own rate limit.
	throttle func(context.Context) error
	// post sends one request and does not repeat it.
	post    func(context.Context, *policyv1.Eviction) error
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
	if err := e.throttle(live); err != nil || live.Err() != nil {
		return errNotSent
	}
	ctx, cancel := context.WithTimeout(wire, e.timeout)
	defer cancel()
	return e.post(ctx, newEviction(pod, grace))
}

// newEviction names the UID: the server must not evict another pod that has got the same name meanwhile.
func newEviction(pod *corev1.Pod, grace *int64) *policyv1.Eviction {
	return &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name},
		DeleteOptions: &metav1.DeleteOptions{
			GracePeriodSeconds: grace,
			Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
		},
	}
}
