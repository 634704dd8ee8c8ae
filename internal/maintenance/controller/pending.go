// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// pending watches which pods are Pending or not Ready, while it is asked for. All that have not
// ended are shown, as no selector tells whether a pod is Ready; a few words are kept of those
// that are not.
type pending struct {
	pods    corev1client.PodInterface
	changed func()

	mu    sync.Mutex
	of    *podShelf[maintenance.NotReadyPod]
	runs  *filling
	grace grace
}

// pendingPatience is for how long no step is done because it is not known which pods do not
// run: it is what holds back who would take out more nodes.
const pendingPatience = budgetsPatience

// notEnded selects the pods that may still run.
const notEnded = "status.phase!=Failed,status.phase!=Succeeded"

func newPending(pods corev1client.PodInterface, changed func()) *pending {
	return &pending{pods: pods, changed: changed}
}

// watch watches them, or not, until ctx ends. It returns until when it is to be waited for
// them; zero: they are known, are not wanted, or cannot be read.
func (p *pending) watch(ctx context.Context, wanted bool, now time.Time) (until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case wanted && p.runs == nil:
		p.of = &podShelf[maintenance.NotReadyPod]{newShelf(readNotReady, p.changed)}
		p.runs = fill(ctx, p.of, &corev1.Pod{}, notEnded, func(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
			return slimList(p.pods.List(ctx, options))
		}, p.pods.Watch)
		p.grace = grace{now.Add(pendingPatience)}
	case !wanted && p.runs != nil:
		p.runs.close()
		p.of, p.runs = nil, nil
	}
	if p.runs == nil {
		return time.Time{}
	}
	until, gaveUp := p.grace.wait(now, p.of.isFilled())
	if gaveUp {
		log.FromContext(ctx).Error(errors.New("pods cannot be read"), "Maintenances go on without looking at pods that are Pending or not Ready", "remedy", grant)
	}
	return until
}

// all are those that do not run, the oldest first, as far as it is known.
func (p *pending) all() []maintenance.NotReadyPod {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		return nil
	}
	all, _ := p.of.all()
	maintenance.SortNotReady(all)
	return all
}

func (p *pending) close() { p.watch(context.Background(), false, time.Time{}) }

func readNotReady(o metav1.Object) (p maintenance.NotReadyPod, wanted bool) {
	if pod, ok := o.(*corev1.Pod); ok {
		return maintenance.ReadNotReady(pod)
	}
	return maintenance.NotReadyPod{}, false
}
