// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

const inhabitedNodes = 10

// parameters of some of the drains. Of the others, they are those of a drain that nobody has
// said anything about.
var parameters = map[int]string{
	2: `"localStorage":"Refuse"`,
	4: `"escalation":{"deleteAfter":"3s"}`,
	6: `"unmanagedPods":"Refuse"`,
	8: `"targets":[{"podType":"Default","podSelector":{"matchExpressions":[{"key":"app","operator":"NotIn","values":["free","whole"]}]}}]`,
}

// always are workloads that make a difference to these parameters.
var always = map[int][]int{2: {12}, 4: {2, 3, 10}, 6: {4}, 8: {0, 1, 2}, 0: {0, 1, 11, 13}, 1: {6, 7, 8}, 3: {5, 13}, 5: {9}, 7: {10}}

// seenOnCluster are verdicts that these nodes show for sure.
var seenOnCluster = []string{
	"Evict", "EvictLater", "EvictLater BudgetExhausted", "Delete BudgetImpossible", "Delete BudgetSyncFailed", "Delete MultipleBudgets",
	"WaitCompleted WaitingForCompletion", "Skip PodSkipped", "Skip Static", "Skip DaemonSet", "Skip NotTargeted",
	"Blocked BudgetExhausted", "Blocked BudgetImpossible", "Blocked BudgetSyncFailed", "Blocked MultipleBudgets",
	"Blocked Terminating", "Blocked UnmanagedPod", "Blocked LocalStorage", "Behind",
}

// What kubectl slipway plan says of ten nodes is what events then do to them, all at the same
// time, on a real control plane.
func TestWhatAPlanSaysOfANodeIsWhatAnEventDoes(t *testing.T) {
	env := harness.Shared(t)
	env.Kubectl(t, "apply", "-f", harness.File(t, "config", "rbac", "central"))
	env.Controller(t, "leader", "", "--builtin-drivers=drain").AwaitLeading()
	var mu sync.Mutex
	said := map[string]int{}
	t.Run("nodes", func(t *testing.T) {
		for n := range inhabitedNodes {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				i := inhabit(t, env, n)
				prediction := i.plan(parameters[n])
				i.drain(prediction, parameters[n])
				mu.Lock()
				defer mu.Unlock()
				for _, p := range prediction.Nodes[0].Pods {
					said[verdictOf(p)]++
				}
			})
		}
	})
	for _, what := range seenOnCluster {
		if said[what] == 0 {
			t.Errorf("%s was never said: %v", what, said)
		}
	}
	t.Log(said)
}

// inhabit gives a node some workloads, and a spare node for their replacements.
func inhabit(t *testing.T, env *harness.Env, n int) *inhabited {
	t.Helper()
	i := &inhabited{Env: env, t: t, group: fmt.Sprint("plan-", n), namespace: env.Namespace(t, nil).Name}
	i.node = env.Node(t, i.group)
	env.Node(t, i.group)
	chosen := map[int]bool{}
	for _, w := range always[n] {
		chosen[w] = true
	}
	random := rand.New(rand.NewPCG(uint64(n), 5))
	for len(chosen) < 5 {
		chosen[random.IntN(len(workloads))] = true
	}
	for w := range workloads {
		if chosen[w] {
			workloads[w](i)
		}
	}
	i.settled()
	return i
}

// plan asks kubectl slipway.
func (i *inhabited) plan(parameters string) plan.Prediction {
	i.t.Helper()
	file := filepath.Join(i.t.TempDir(), "parameters.json")
	if err := os.WriteFile(file, []byte(whole(parameters)), 0o600); err != nil {
		i.t.Fatal(err)
	}
	command := exec.CommandContext(i.t.Context(), harness.Binary(i.t, "kubectl-slipway"), "--kubeconfig="+i.Facts.Kubeconfig,
		"plan", i.node.Name, "-f", file, "-o", "json")
	out, err := command.Output()
	var exited *exec.ExitError
	if err != nil && (!errors.As(err, &exited) || len(out) == 0) {
		i.t.Fatalf("%v: %v", command, err)
	}
	var prediction plan.Prediction
	if err := json.Unmarshal(out, &prediction); err != nil {
		i.t.Fatalf("%v in:\n%s", err, out)
	}
	const blocked = cli.WouldBlock
	if code := command.ProcessState.ExitCode(); (code == blocked) != prediction.Blocks() || code != 0 && code != blocked {
		i.t.Errorf("exit code %d; would something block? %t", code, prediction.Blocks())
	}
	return prediction
}

func whole(parameters string) string {
	if parameters != "" {
		parameters = "," + parameters
	}
	return `{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters"` + parameters + `}`
}

// drain drains the node, until it is drained or until it is held up as foretold, and wants
// each pod to have had its fate.
func (i *inhabited) drain(prediction plan.Prediction, parameters string) {
	i.t.Helper()
	want, blocked, leaving := map[string]string{}, map[string]string{}, []*corev1.Pod{}
	for _, p := range prediction.Nodes[0].Pods {
		p.By = ""
		if p.Verdict == drain.Stay {
			p.Reason = "" // which is not in the blockers of the event
		}
		name := p.Namespace + "/" + p.Name
		want[name] = foretold(p)
		if p.Blocks() {
			blocked[name] = string(p.Reason)
		}
		pod := &corev1.Pod{}
		pod.Namespace, pod.Name = p.Namespace, p.Name
		leaving = append(leaving, pod)
	}
	event := i.node.EventName("drain")
	i.node.Event(event, harness.Drain, harness.Kept, harness.RawParameters(whole(parameters)))
	done := i.watch(event, blocked)
	for _, pod := range leaving {
		if fate := want[pod.Namespace+"/"+pod.Name]; fate == evicted || fate == deleted || fate == completed {
			harness.AwaitNone[*corev1.Pod](i.t, i.Env, &corev1.PodList{}, harness.Named(pod.Name), client.InNamespace(pod.Namespace))
		}
	}
	if len(blocked) > 0 {
		i.Delete(i.t, &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: event}})
	} else {
		i.node.Expect(harness.CordonLeft, "a node that was drained stays cordoned until it is returned, which is not part of this test")
	}
	outcome := i.Outcome(i.t, event).Status.ClaimStatus
	if (outcome == lifecyclev1alpha1.Succeeded) != (len(blocked) == 0) {
		i.t.Errorf("the event is %s; %d pods were to block it", outcome, len(blocked))
	}
	if diff := cmp.Diff(want, i.fates(leaving, blocked, done)); diff != "" {
		i.t.Errorf("(-plan +event):\n%s", diff)
	}
}

// watch follows the event until it is over, or held up by exactly these pods. It ends those
// that are waited for, and gives their names.
func (i *inhabited) watch(event string, blocked map[string]string) (done map[string]bool) {
	i.t.Helper()
	done = map[string]bool{}
	i.AwaitEvent(i.t, event, fmt.Sprintf("is over, or held up by %v", blocked), func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		if e.Status.ClaimStatus.Terminal() {
			return true
		}
		now := map[string]string{}
		for _, b := range e.Status.Blockers {
			name, isPod := strings.CutPrefix(b.Object, "Pod ")
			switch {
			case !isPod:
			case b.Reason == string(drain.WaitingForCompletion):
				i.complete(name)
				done[name] = true
			default:
				now[name] = b.Reason
			}
		}
		return len(blocked) > 0 && maps.Equal(now, blocked)
	})
	return done
}

// complete ends a pod as if its program had ended.
func (i *inhabited) complete(name string) {
	i.t.Helper()
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, _ = strings.Cut(name, "/")
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"Succeeded"}}`))
	if err := i.Client.Status().Patch(i.t.Context(), pod, patch); client.IgnoreNotFound(err) != nil {
		i.t.Error(err)
	}
}

// fates are what has become of pods, as the server and its audit log say.
func (i *inhabited) fates(pods []*corev1.Pod, blocked map[string]string, done map[string]bool) map[string]string {
	i.t.Helper()
	accepted := map[string]bool{}
	for _, r := range i.node.CentralEvictions(pods...) {
		if r.Code < http.StatusMultipleChoices {
			accepted[r.Namespace+"/"+r.Name] = true
		}
	}
	fates := map[string]string{}
	for _, pod := range pods {
		name := pod.Namespace + "/" + pod.Name
		err := i.Client.Get(i.t.Context(), client.ObjectKeyFromObject(pod), &corev1.Pod{})
		gone := apierrors.IsNotFound(err)
		if err != nil && !gone {
			i.t.Error(err)
		}
		switch {
		case done[name] && gone:
			fates[name] = completed
		case accepted[name] && gone:
			fates[name] = evicted
		case gone:
			fates[name] = deleted
		case accepted[name]:
			fates[name] = "evicted and stuck"
		case blocked[name] != "":
			fates[name] = because("blocked", drain.Reason(blocked[name]), "")
		default:
			fates[name] = left
		}
	}
	return fates
}
