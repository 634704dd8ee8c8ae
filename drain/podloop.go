// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

const (
	// maxPodsInFlight limits the unanswered evictions of a namespace. It is higher than the limit of a Drain: behind a slow
	// webhook, pods that the webhook does not concern should not wait.
	maxPodsInFlight = 64
	// A decision takes a few microseconds for each pod. restPerPod is some times that: the loop rests after a decision about a
	// crowd, so that a budget that changes all the time does not keep a processor busy.
	crowd      = 100
	restPerPod = 10 * time.Microsecond
	// reportAgain delays the report of a blocker whose text alone has changed: with each pod that becomes ready, the text
	// changes for all pods under a budget.
	reportAgain = 3 * time.Minute
)

// podLoop evicts the pods of one namespace for which EvictPod was called. Its loop is the loop of a Drain without a node,
// steps and an end: gather, decide, send, report, wait.
type podLoop struct {
	*engine
	trials
	namespace string

	pods    *watchstore.Store[*corev1.Pod]
	budgets *guarding
	// joined is the begin of the watches, or their last failure.
	joined time.Time
	since  map[blockerKey]time.Time

	mu sync.Mutex
	// pending are the current calls.
	pending map[types.UID]*pendingEviction
	// lists counts the lists of pods that the watch has shown.
	lists int
}

func startPodLoop(ctx context.Context, d *Drainer, namespace string) (l *podLoop, stop func()) {
	l = &podLoop{
		engine: newEngine(d, maxPodsInFlight, nil), trials: newTrials(), namespace: namespace,
		joined: d.config.Clock.Now(), pending: map[types.UID]*pendingEviction{},
	}
	l.learn = l.learned
	l.pods = watchstore.New(watchstore.Options[*corev1.Pod]{Convert: toSlimPod, Changed: l.podChanged})
	endPods := l.pods.Start(ctx, podSource(d.config.Pods, namespace, ""))
	l.budgets = d.budgets.join(ctx, namespace, l.wake)
	endLoop := watchstore.Start(ctx, l.run)
	return l, func() {
		endLoop()
		l.budgets.leave()
		endPods()
	}
}

// podChanged wakes the loop for the pods of its calls only.
func (l *podLoop) podChanged(c watchstore.Change[*corev1.Pod]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c.UID == "" && c.Differs {
		l.lists++
	}
	if c.UID == "" || l.pending[c.UID] != nil {
		l.wake.Poke()
	}
}

// add adds a call. It returns false for a second call with the same pod.
func (l *podLoop) add(p *pendingEviction) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.pending[p.uid] != nil {
		return false
	}
	p.checked = -1
	l.pending[p.uid] = p
	l.wake.Poke()
	return true
}

// leave ends a call: its caller waits for that.
func (l *podLoop) leave(p *pendingEviction) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p.left = true
	l.wake.Poke()
}

// run works until ctx ends. By then it has dropped all calls.
func (l *podLoop) run(ctx context.Context) {
	for ctx.Err() == nil {
		l.learnAll()
		pending := l.look()
		f := l.gather(pending)
		plan := decidePods(f)
		l.since = plan.since
		wake := earlier(plan.wake, f.readingLate)
		for _, s := range plan.sends {
			p := l.find(s.pod.UID)
			wake = earlier(wake, l.launch(p.live, p.wire, s, &l.trials))
		}
		for _, p := range pending {
			wake = earlier(wake, l.report(p, plan, f.now))
		}
		if n := len(pending); n > crowd {
			l.d.rest(ctx, time.Duration(n)*restPerPod)
		}
		l.wait(ctx, wake)
	}
	l.flights.Wait()
}

func (l *podLoop) find(uid types.UID) *pendingEviction {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pending[uid]
}

// look updates the calls from the watch. It returns the calls that continue, by UID: if a budget allows one eviction, each
// pass must pick the same pod.
func (l *podLoop) look() []*pendingEviction {
	synced := l.pods.Synced()
	l.mu.Lock()
	lists, pending := l.lists, make([]*pendingEviction, 0, len(l.pending))
	for _, p := range l.pending {
		switch {
		case p.ended:
		case p.left:
			defer l.end(p)
		default:
			pending = append(pending, p)
		}
	}
	l.mu.Unlock()
	slices.SortFunc(pending, func(a, b *pendingEviction) int { return cmp.Compare(a.uid, b.uid) })
	return slices.DeleteFunc(pending, func(p *pendingEviction) bool {
		pod, found := l.pods.Get(p.uid)
		switch {
		case !found && p.seen == nil && synced && p.checked != lists:
			p.checked = lists
			p.unseen.Poke()
		case !found && p.seen == nil:
		case !found, isFinished(pod):
			return l.finish(p, nil)
		case !isTerminating(pod) && unevictable(pod) != nil:
			return l.finish(p, unevictable(pod))
		default:
			p.seen = pod
		}
		return false
	})
}

// finish reports the end to the caller.
func (l *podLoop) finish(p *pendingEviction, err error) (finished bool) {
	p.over <- err // never blocks: it is sent once
	l.end(p)
	return true
}

// end stops the requests for a call, and drops the call when no request is in flight.
func (l *podLoop) end(p *pendingEviction) {
	p.ended = true
	if !l.tries[p.uid].inFlight {
		l.drop(p)
	}
}

func (l *podLoop) drop(p *pendingEviction) {
	delete(l.tries, p.uid)
	l.mu.Lock()
	delete(l.pending, p.uid)
	l.mu.Unlock()
	close(p.dropped)
}

// learned records an answer.
func (l *podLoop) learned(a answered, now time.Time) {
	p := l.find(a.pod.UID)
	l.trials.learned(a, !p.ended, now, rand.Float64())
	if p.ended {
		l.drop(p)
	}
}

// gather returns the current facts. It reads no node, and treats all nodes as ready.
func (l *podLoop) gather(pending []*pendingEviction) facts {
	f := l.facts()
	f.node, f.trials, f.since = nodeFacts{ready: true}, l.trials, l.since
	for _, p := range pending {
		if p.seen != nil {
			f.pods = append(f.pods, p.seen)
		}
	}
	l.gatherBudgets(&f, l.budgets, l.namespace, f.pods)
	l.opened.saw(f.budgets, f.now)
	reads := reading{now: f.now}
	l.joined = reads.await("pods of namespace "+l.namespace, l.joined, l.pods)
	l.joined = reads.await("budgets of namespace "+l.namespace, l.joined, l.budgets)
	f.reading, f.readingLate = reads.failed, reads.late
	return f
}

// podsPlan is a decision about pods that leave one by one.
type podsPlan struct {
	sends []send
	// blockers are the blockers of single pods. general blocks all other pods.
	blockers map[types.UID]Blocker
	general  Blocker
	since    map[blockerKey]time.Time
	wake     time.Time
}

// decidePods decides about pods without a drain: only their budgets and earlier answers delay them.
func decidePods(f facts) podsPlan {
	p := &pacing{facts: f, taken: map[types.UID]bool{}, free: maxPodsInFlight - f.inFlight}
	s := &summary{facts: f, since: map[blockerKey]time.Time{}}
	plan := podsPlan{blockers: map[types.UID]Blocker{}}
	for _, pod := range f.pods {
		hold, wake := p.single(s, pod)
		plan.wake = earlier(plan.wake, wake)
		if hold != nil {
			plan.blockers[pod.UID] = s.blocker(pod, hold)
		}
	}
	if len(f.reading) > 0 {
		plan.general = s.blocker(nil, &f.reading[0])
	}
	plan.sends, plan.since = p.sends, s.since
	return plan
}

// single decides about one pod, and returns its obstacle.
func (p *pacing) single(s *summary, pod *corev1.Pod) (hold *obstacle, wake time.Time) {
	l := leaver{pod, treatment{behavior: Evict}}
	t, f := p.facts.tries[pod.UID], p.facts
	switch {
	case isTerminating(pod):
		return s.ending(l, nil)
	case t.inFlight:
		return cmp.Or(t.standing(), f.brake.obstacle), time.Time{}
	case f.now.Before(f.brake.until):
		return cmp.Or(t.standing(), f.brake.obstacle), f.brake.until
	}
	send, hold, wake := p.evict(l, t)
	if send != nil {
		p.send(*send)
	}
	return hold, wake
}

// report reports the progress to the caller. It returns the time of the next report if it delays one.
func (l *podLoop) report(p *pendingEviction, plan podsPlan, now time.Time) (again time.Time) {
	progress := PodProgress{Blocker: plan.blockers[p.uid]}
	if progress.Blocker.Reason == "" && plan.general.Reason != "" {
		progress.Blocker = plan.general
		progress.Blocker.Pod = p.pod
	}
	if p.seen != nil && isTerminating(p.seen) {
		progress.Ends = p.seen.DeletionTimestamp.Time
	}
	if progress == p.reported {
		return time.Time{}
	}
	if next := p.reportedAt.Add(reportAgain); progress.resembles(p.reported) && now.Before(next) {
		return next
	}
	p.reported, p.reportedAt = progress, now
	replace(p.news, progress)
	return time.Time{}
}

// resembles reports whether only texts differ.
func (p PodProgress) resembles(o PodProgress) bool {
	return p.Blocker.Reason == o.Blocker.Reason && p.Blocker.By == o.Blocker.By && p.Ends.Equal(o.Ends)
}
