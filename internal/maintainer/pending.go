// SPDX-License-Identifier: Apache-2.0

package maintainer

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/metadata"
	"sigs.k8s.io/controller-runtime/pkg/log"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// pending watches which pods are Pending, while it is asked for: their metadata alone.
type pending struct {
	pods    metadata.Getter
	changed func()

	mu    sync.Mutex
	since *shelf[time.Time]
	runs  *filling
	grace grace
}

// pendingPatience is for how long no step is done because it is not known which pods are
// Pending: it is what holds back who would take out more nodes.
const pendingPatience = 10 * time.Second

func newPending(pods metadata.Getter, changed func()) *pending {
	return &pending{pods: pods, changed: changed}
}

// watch watches them, or not, until ctx ends. It returns until when it is to be waited for
// them; zero: they are known, are not wanted, or cannot be read.
func (p *pending) watch(ctx context.Context, wanted bool, now time.Time) (until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case wanted && p.runs == nil:
		p.since = newShelf(createdAt, p.changed)
		example := &metav1.PartialObjectMetadata{}
		example.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		selector := fields.OneTermEqualSelector("status.phase", string(corev1.PodPending)).String()
		p.runs = fill(ctx, p.since, example, selector, p.pods.List, p.pods.Watch)
		p.grace = grace{now.Add(pendingPatience)}
	case !wanted && p.runs != nil:
		p.runs.close()
		p.since, p.runs = nil, nil
	}
	if p.runs == nil {
		return time.Time{}
	}
	until, gaveUp := p.grace.wait(now, p.since.isFilled())
	if gaveUp {
		log.FromContext(ctx).Error(errors.New("pods cannot be read"), "Maintenances go on without looking at pods that are Pending", "remedy", grant)
	}
	return until
}

// times are when the pods were created that are Pending, as far as it is known.
func (p *pending) times() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since == nil {
		return nil
	}
	all, _ := p.since.all()
	slices.SortFunc(all, time.Time.Compare)
	return all
}

func (p *pending) close() { p.watch(context.Background(), false, time.Time{}) }

// createdAt is when a pod was created that waits for room: one that is kept away from its node
// waits for the node's return, and must not hold that up.
func createdAt(o metav1.Object) (at time.Time, wanted bool) {
	_, keptAway := o.GetLabels()[slipwayv1alpha1.KeptAway]
	return o.GetCreationTimestamp().Time, !keptAway
}
