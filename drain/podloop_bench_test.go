// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// BenchmarkAPassOver2000Pods is what it costs the loop of EvictPod once when one of the budgets changes that its pods wait
// for.
func BenchmarkAPassOver2000Pods(b *testing.B) {
	const pods = 2000
	for _, budgets := range []int{1, 200} {
		b.Run(fmt.Sprintf("%d budgets", budgets), func(b *testing.B) {
			d := unconnected(b)
			watch := newBudgetWatch(d.queue)
			l := &podLoop{
				engine: newEngine(d, maxPodsInFlight, nil), trials: newTrials(), namespace: "default",
				pods: newStore(toPod, watchstore.NewSignal()), budgets: &guarding{budgetWatch: watch}, pending: map[types.UID]*pendingEviction{},
			}
			app := func(i int) map[string]string { return map[string]string{"app": fmt.Sprint(i % budgets)} }
			pdbs := make([]any, budgets)
			for i := range pdbs {
				pdbs[i] = newPDB(fmt.Sprint("b", i), exhausted, func(p *policyv1.PodDisruptionBudget) { p.Spec.Selector.MatchLabels = app(i) }).PodDisruptionBudget
			}
			all := make([]any, pods)
			for i := range all {
				pod := newPod(fmt.Sprintf("web-%04d", i))
				pod.UID, pod.Labels = types.UID(pod.Name), app(i)
				all[i] = pod
				l.add(&pendingEviction{uid: pod.UID, in: l, news: make(chan PodProgress, 1), unseen: watchstore.NewSignal()})
			}
			_, _ = watch.Replace(pdbs, "1"), l.pods.Replace(all, "1")
			b.ReportAllocs()
			changes := 0
			for b.Loop() {
				changed := pdbs[changes%budgets].(*policyv1.PodDisruptionBudget).DeepCopy()
				changes++
				changed.ResourceVersion = fmt.Sprint(changes)
				_ = watch.Update(changed)
				pending := l.look()
				f := l.gather(pending)
				plan := decidePods(f)
				l.since = plan.since
				for _, p := range pending {
					l.report(p, plan, f.now)
				}
			}
		})
	}
}
