// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
)

const (
	drainers = 4
	evicters = 2
	// perDrainer and perMaintainer are numbers of nodes.
	perDrainer    = 5
	perMaintainer = 8
	// mixedNodes is the number of nodes that the load needs: the last ones are always in service.
	mixedNodes = drainers*perDrainer + perMaintainer + 4
	// mixedPods is the number of pods on each node.
	mixedPods = 10
)

// load is many requesters at the same time, each of which requests one thing after the other. Requesters that take
// nodes out of service share no nodes, while all pods of an app share a budget.
type load struct {
	*testbed.Cluster
	requesters []requester

	readLog func() error

	mu    sync.Mutex
	made  map[string]int // how often each thing was done
	total int
}

// requester requests one thing, waits for its end, and returns its name.
type requester func(ctx context.Context) (what string, err error)

func newLoad(c *testbed.Cluster, seed uint64, readLog func() error) *load {
	l := &load{Cluster: c, readLog: readLog, made: map[string]int{}}
	random := func() *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(len(l.requesters)))) }
	for i := range drainers {
		d := &drainer{load: l, random: random(), nodes: c.Nodes[i*perDrainer : (i+1)*perDrainer]}
		l.requesters = append(l.requesters, d.once)
	}
	m := &maintainer{load: l, random: random(), nodes: c.Nodes[drainers*perDrainer:][:perMaintainer]}
	l.requesters = append(l.requesters, m.once)
	for i := range evicters {
		e := &evicter{load: l, random: random(), id: i}
		l.requesters = append(l.requesters, e.once)
	}
	return l
}

// keepUp lets all requesters work for that time, and returns when the last of them has finished.
func (l *load) keepUp(ctx context.Context, long time.Duration) error {
	// patience bounds the time of one request.
	const patience = 15 * time.Minute
	l.Printf("%s of drains, maintenances and EvictionRequests", long)
	until := time.Now().Add(long)
	all, ctx := errgroup.WithContext(ctx)
	for _, once := range l.requesters {
		all.Go(func() error {
			for time.Now().Before(until) {
				within, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it has taken more than %s", patience))
				what, err := once(within)
				if err != nil {
					err = fmt.Errorf("%s: %w", what, errors.Join(err, context.Cause(within)))
				}
				cancel()
				if err == nil {
					err = l.did(what)
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
	return all.Wait()
}

// did records that a thing is done, and now and then reports how many are, and reads the log.
func (l *load) did(what string) error {
	const period = 50
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made[what]++
	l.total++
	if l.total%period != 0 {
		return nil
	}
	l.Printf("%d things are done: %v", l.total, l.made)
	return l.readLog()
}

// isCanceled decides whether a request is canceled: one in four is.
func isCanceled(random *rand.Rand) bool { return random.IntN(4) == 0 }

// drainer drains one of its nodes and returns it, or cancels the drain.
type drainer struct {
	*load
	random *rand.Rand
	nodes  []string
}

func (d *drainer) once(ctx context.Context) (string, error) {
	node := d.nodes[d.random.IntN(len(d.nodes))]
	if isCanceled(d.random) {
		return "drains canceled", d.cancel(ctx, node)
	}
	if err := d.transition(ctx, testbed.Drain, node); err != nil {
		return "drain of " + node, err
	}
	return "drains and returns", d.transition(ctx, testbed.Uncordon, node)
}

// transition requests one, and returns when it has succeeded and its LifecycleEvent is deleted.
func (d *drainer) transition(ctx context.Context, transition, node string) error {
	event := testbed.EventOf(transition, node)
	return testbed.Follow(ctx, d.Objects, &lifecyclev1alpha1.LifecycleEventList{}, func() error { return d.Objects.Create(ctx, event) },
		func(e *lifecyclev1alpha1.LifecycleEvent, deleted bool) (bool, error) {
			if phase := e.Status.ClaimStatus; phase.Terminal() && phase != lifecyclev1alpha1.Succeeded {
				return false, fmt.Errorf("%s of %s ended as %s: %+v", transition, node, phase, e.Status.Conditions)
			}
			return deleted, nil
		}, client.MatchingFields{"metadata.name": event.Name})
}

// cancel deletes the LifecycleEvent as soon as it is claimed and has its finalizer, and returns after its deletion.
// It returns the node if the drain was faster. It does not delete earlier: the API server ignores a finalizer that is
// added while it carries out a deletion, and deletes the event at once.
func (d *drainer) cancel(ctx context.Context, node string) error {
	event, canceled, succeeded := testbed.EventOf(testbed.Drain, node), false, false
	err := testbed.Follow(ctx, d.Objects, &lifecyclev1alpha1.LifecycleEventList{}, func() error { return d.Objects.Create(ctx, event) },
		func(e *lifecyclev1alpha1.LifecycleEvent, deleted bool) (bool, error) {
			succeeded = e.Status.ClaimStatus == lifecyclev1alpha1.Succeeded
			if e.Status.ClaimStatus == lifecyclev1alpha1.Claimed && len(e.Finalizers) > 0 && !canceled {
				canceled = true
				return deleted, client.IgnoreNotFound(d.Objects.Delete(ctx, e))
			}
			return deleted, nil
		}, client.MatchingFields{"metadata.name": event.Name})
	if err != nil || !succeeded {
		return err
	}
	return d.transition(ctx, testbed.Uncordon, node)
}

// maintainer has its nodes maintained, some at a time, or ends the maintenance early.
type maintainer struct {
	*load
	random *rand.Rand
	nodes  []string
	number int
}

func (m *maintainer) once(ctx context.Context) (what string, err error) {
	const most = 3
	m.number++
	requested := testbed.MaintenanceOf(fmt.Sprintf("bench-%d", m.number), m.nodes, &slipwayv1alpha1.MaintenanceRollout{
		MaxUnavailable: new(intstr.FromInt(1 + m.random.IntN(most))),
		MaxPendingPods: new(int32(2 * drainers * mixedPods)), // other drains replace pods all the time
	})
	what, early := "maintenances", isCanceled(m.random)
	if early {
		what = "maintenances ended early"
	}
	ended := false
	return what, testbed.Follow(ctx, m.Objects, &slipwayv1alpha1.NodeMaintenanceList{}, func() error { return m.Objects.Create(ctx, requested) },
		func(o *slipwayv1alpha1.NodeMaintenance, deleted bool) (bool, error) {
			completed, err := testbed.MaintenanceCompleted(o)
			if err == nil && !ended && (completed || early && o.Status.Nodes.Out > 0) {
				ended = true
				err = client.IgnoreNotFound(m.Objects.Delete(ctx, o))
			}
			return deleted, err
		}, client.MatchingFields{"metadata.name": requested.Name})
}

// evicter requests the eviction of a pod on any node, or withdraws the request.
type evicter struct {
	*load
	random *rand.Rand
	id     int
}

func (e *evicter) once(ctx context.Context) (what string, err error) {
	pod, err := e.choose(ctx)
	if err != nil {
		return "the choice of a pod", err
	}
	what, withdraws := "EvictionRequests", isCanceled(e.random)
	if withdraws {
		what = "EvictionRequests withdrawn"
	}
	if err := e.evict(ctx, pod, withdraws); err != nil {
		return what, fmt.Errorf("pod %s: %w", pod.Name, err)
	}
	return what, nil
}

// evict requests the eviction of a pod, and returns when the pod is deleted, or the controller no longer acts on the
// request. It deletes the request.
func (e *evicter) evict(ctx context.Context, pod *corev1.Pod, withdraws bool) error {
	r := testbed.EvictionRequestOf(pod, fmt.Sprintf("%s-%d", pod.Name, e.id), fmt.Sprintf("example.com/soak-%d", e.id))
	err := testbed.Follow(ctx, e.Objects, &evictionv1alpha1.EvictionRequestList{}, func() error {
		err := e.Objects.Create(ctx, r.DeepCopy())
		if err == nil && withdraws {
			intent := []byte(`{"spec":{"intent":"` + string(evictionv1alpha1.EvictionRequestIntentWithdrawn) + `"}}`)
			err = client.IgnoreNotFound(e.Objects.Patch(ctx, r.DeepCopy(), client.RawPatch(types.MergePatchType, intent)))
		}
		return err
	}, func(r *evictionv1alpha1.EvictionRequest, deleted bool) (bool, error) {
		return deleted || apimeta.IsStatusConditionTrue(r.Status.Conditions, string(evictionv1alpha1.EvictionConditionTargetEvicted)) ||
			apimeta.IsStatusConditionTrue(r.Status.Conditions, string(evictionv1alpha1.EvictionConditionFailed)), nil
	}, client.InNamespace(pod.Namespace), client.MatchingFields{"metadata.name": r.Name})
	if err != nil {
		return err
	}
	return client.IgnoreNotFound(e.Objects.Delete(ctx, r))
}

// choose returns a pod that runs.
func (e *evicter) choose(ctx context.Context) (*corev1.Pod, error) {
	namespace := fmt.Sprintf("team-%d", e.random.IntN(mixedPods))
	list, err := e.Clients.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", namespace, err)
	}
	running := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return p.Status.Phase != corev1.PodRunning || p.DeletionTimestamp != nil
	})
	if len(running) == 0 {
		return nil, fmt.Errorf("no pod of %s runs", namespace)
	}
	return &running[e.random.IntN(len(running))], nil
}
