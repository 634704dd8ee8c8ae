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

// table contains the runs. One goroutine uses it: watch events and the ends of runs add a
// key to the queue, and the goroutine checks the current state.
type table struct {
	// name is the name of the responder.
	name  string
	queue workqueue.TypedInterface[cache.ObjectName]
	// find returns the last seen version of the Eviction, or nil.
	find func(cache.ObjectName) *evictionv1alpha1.Eviction
	// start begins a job, whose end adds the key to the queue.
	start func(context.Context, cache.ObjectName, *evictionv1alpha1.Eviction) *job
	// maxRuns is the limit in [Config].
	maxRuns int

	// jobs are the jobs of all existing Evictions, including completed jobs: the watch may
	// still show a version before the completion.
	jobs map[cache.ObjectName]*job
	// going are the jobs that have not ended, by the UID of the pod.
	going map[types.UID]*job
	// waiting are the Evictions that cannot begin yet, in their order of arrival.
	waiting []cache.ObjectName
}

// run works until ctx ends. Then it stops all runs, and returns when they have ended.
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

// settle brings the job of an Eviction up to date.
func (t *table) settle(ctx context.Context, key cache.ObjectName) {
	e := t.find(key)
	if j := t.jobs[key]; j != nil {
		if e == nil {
			j.stop(ErrGone)
		} else {
			j.see(e)
		}
		if !j.isOver() {
			return // its end adds the key again
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
		klog.FromContext(ctx).Info("The Eviction waits for the end of another run", "eviction", key, "runs", len(t.going))
		t.waiting = append(t.waiting, key)
	}
}

// release lets waiting Evictions begin after the end of the job.
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
