// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"slices"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// table is which runs there are. One goroutine works on it: what is shown and the ends of
// runs wake it by a key, and it looks at what there is.
type table struct {
	// name is the responder's.
	name  string
	queue workqueue.TypedInterface[cache.ObjectName]
	// find is the Eviction as the watch shows it; nil: there is none.
	find func(cache.ObjectName) *evictionv1alpha1.Eviction
	// start begins a job, whose end adds the key to the queue.
	start func(context.Context, cache.ObjectName, *evictionv1alpha1.Eviction) *job
	// maxRuns is as in [Config].
	maxRuns int

	// jobs are those of the Evictions that there are, also when they are over: what the
	// watch shows can be older than how they ended.
	jobs map[cache.ObjectName]*job
	// going are the jobs that are not over, by the UID of the pod.
	going map[types.UID]*job
	// waiting is whose turn it is, but which cannot begin yet, in the order they came.
	waiting []cache.ObjectName
}

// run works until ctx ends. Then it ends all runs, and returns when they have.
func (t *table) run(ctx context.Context) {
	defer context.AfterFunc(ctx, t.queue.ShutDown)()
	for {
		key, ended := t.queue.Get()
		if ended {
			break
		}
		t.settle(ctx, key)
		t.queue.Done(key)
	}
	for _, j := range t.going {
		j.stop(ErrShutdown)
	}
	for _, j := range t.going {
		<-j.over
	}
}

// settle does what there is to do about an Eviction.
func (t *table) settle(ctx context.Context, key cache.ObjectName) {
	e := t.find(key)
	if j := t.jobs[key]; j != nil {
		if e == nil {
			j.stop(ErrGone)
		} else {
			j.see(e)
		}
		if !j.isOver() {
			return // its end comes back here
		}
		t.release(ctx, j)
		if e != nil && e.UID == j.uid {
			return
		}
		delete(t.jobs, key)
	}
	if e == nil || ctx.Err() != nil {
		return
	}
	if ours, _ := isTurnOf(t.name, e); ours {
		t.begin(ctx, key, e)
	}
}

func (t *table) begin(ctx context.Context, key cache.ObjectName, e *evictionv1alpha1.Eviction) {
	pod := e.Spec.Target.Pod.UID
	if t.going[pod] == nil && (t.maxRuns == 0 || len(t.going) < t.maxRuns) {
		j := t.start(ctx, key, e)
		t.jobs[key], t.going[pod] = j, j
		return
	}
	if !slices.Contains(t.waiting, key) {
		klog.FromContext(ctx).Info("The Eviction waits until another run is over", "eviction", key, "runs", len(t.going))
		t.waiting = append(t.waiting, key)
	}
}

// release lets others begin once the job is over.
func (t *table) release(ctx context.Context, j *job) {
	if t.going[j.pod] != j {
		return
	}
	delete(t.going, j.pod)
	waiting := t.waiting
	t.waiting = nil
	for _, key := range waiting {
		t.settle(ctx, key)
	}
}
