// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// lookTimeout bounds the last LIST: an API server that is away must not keep us from hearing that ctx has ended.
const lookTimeout = 30 * time.Second

// confirm asks the server once, with a consistent read, whether any pod in scope is left: a watch may lag, and a drain
// that reports an empty node too early lets somebody switch off a machine with running containers.
func (r *run) confirm(ctx context.Context, f facts) {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	list, err := r.d.config.Pods.Pods("").List(look, metav1.ListOptions{FieldSelector: onNode(r.req.NodeName)})
	if err == nil {
		pods := make([]*corev1.Pod, len(list.Items))
		for i := range list.Items {
			pods[i] = &list.Items[i]
		}
		leaving, _ := filter(scope(r.req.NodeName, pods), f)
		r.confirmed = len(leaving) == 0
	}
	if r.confirmed {
		r.book.last = lastLook{}
		return
	}
	r.looked(err, r.d.config.Clock.Now(), rand.Float64())
}
