// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
)

const (
	step       = 10 * time.Millisecond  // what each step of the server takes, and the controller of budgets
	conflicted = 500 * time.Millisecond // how long the server waits after two evictions have met
	replaced   = 3 * time.Second        // until the pod that comes instead of an evicted one is ready
)

// keeper keeps a budget as API server and controller together do, in virtual time.
type keeper struct {
	*fakeServer
	mu      sync.Mutex
	budget  *policyv1.PodDisruptionBudget
	version int
	refused []time.Time
	// recovering are the replacements to come.
	recovering sync.WaitGroup
}

func newKeeper(s *fakeServer, budget *policyv1.PodDisruptionBudget) *keeper {
	k := &keeper{fakeServer: s, budget: budget, version: 1}
	s.answerWith(k.evict)
	return k
}

// evict reads, and writes a step later, unless somebody else has written meanwhile. Then it waits and reads again.
func (k *keeper) evict(e *policyv1.Eviction) error {
	for {
		<-time.After(step)
		version, allowed := k.read()
		if !allowed {
			return k.refuse()
		}
		<-time.After(step)
		if k.write(version, func(s *policyv1.PodDisruptionBudgetStatus) {
			s.DisruptionsAllowed--
			s.DisruptedPods[e.Name] = metav1.Now()
		}) {
			k.recovering.Go(func() { k.recover(e.Name) })
			return nil
		}
		<-time.After(conflicted)
	}
}

// recover is what the controller writes after an eviction.
func (k *keeper) recover(pod string) {
	<-time.After(step)
	k.write(0, func(s *policyv1.PodDisruptionBudgetStatus) { delete(s.DisruptedPods, pod) })
	<-time.After(replaced)
	k.write(0, func(s *policyv1.PodDisruptionBudgetStatus) { s.DisruptionsAllowed++ })
}

func (k *keeper) read() (version int, allowed bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.version, k.budget.Status.DisruptionsAllowed > 0
}

// write changes the status, if it still has that version. Zero is any.
func (k *keeper) write(version int, change func(*policyv1.PodDisruptionBudgetStatus)) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if version != 0 && version != k.version {
		return false
	}
	k.version++
	k.budget = k.budget.DeepCopy()
	k.budget.ResourceVersion = fmt.Sprint(k.version)
	if k.budget.Status.DisruptedPods == nil {
		k.budget.Status.DisruptedPods = map[string]metav1.Time{}
	}
	change(&k.budget.Status)
	if err := k.Tracker().Update(policyv1.SchemeGroupVersion.WithResource("poddisruptionbudgets"), k.budget, k.budget.Namespace); err != nil {
		k.t.Errorf("write the budget: %v", err)
	}
	return true
}

func (k *keeper) refuse() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.refused = append(k.refused, time.Now())
	err := apierrors.NewTooManyRequests("not now", 0)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause}}
	return err
}

// TestManyProcessesShareABudget has the pods of ten nodes leave under one budget, each node by a process of its own. That
// lasts hardly longer than it would in one process, and once they know of each other, their evictions rarely meet.
func TestManyProcessesShareABudget(t *testing.T) {
	const nodes, podsOfEach, allowed = 10, 3, 2
	synctest.Test(t, func(t *testing.T) {
		budget := fakeBudget("web", allowed)
		objects := []runtime.Object{budget}
		for n := range nodes {
			name := fmt.Sprintf("node-%d", n)
			objects = append(objects, fakeNode(func(n *corev1.Node) { n.Name, n.UID = name, types.UID(name) }))
			for i := range podsOfEach {
				objects = append(objects, fakePod(fmt.Sprintf("%s-%d", name, i), func(p *corev1.Pod) { p.Spec.NodeName = name }))
			}
		}
		k := newKeeper(newFakeServer(t, objects...), budget)
		began := time.Now()
		drains := make([]*draining, nodes)
		for n := range drains {
			drains[n] = startDrain(t, k.fakeServer, func(_ *drain.Config, r *drain.Request) { r.NodeName = fmt.Sprintf("node-%d", n) })
		}
		for _, d := range drains {
			if err := d.end(); err != nil {
				t.Error(err)
			}
		}
		took, best := time.Since(began), (nodes*podsOfEach/allowed-1)*replaced
		if took > best*5/4 {
			t.Errorf("it took %s; one process would take %s", took, best)
		}
		k.recovering.Wait()
		late := slices.DeleteFunc(k.refused, func(at time.Time) bool { return at.Sub(began) < replaced })
		t.Logf("it took %s; %d refused, %d of them later than the first", took, len(k.refused), len(late))
		if len(late) > nodes*podsOfEach/2 {
			t.Errorf("%d evictions were refused", len(late))
		}
	})
}
