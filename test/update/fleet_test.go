// SPDX-License-Identifier: Apache-2.0

package update

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/test/harness"
)

// updateTime is how long a rolling update may take, from its beginning on.
const updateTime = 3 * time.Minute

// fleet are the processes of agents, each as that of its node's pod. It plays the
// kubelets: a process ends when its pod is to go, the pod goes when the process has ended,
// and when there is a new pod, a process begins that has its token.
type fleet struct {
	t      *testing.T
	env    *harness.Env
	agents map[string]*agent // by node
	pods   watch.Interface
	// replaced is how many have been.
	replaced int
}

// agent is the one of a node.
type agent struct {
	node    *harness.Node
	process *harness.Process
	pod     types.UID
	leaving bool
}

// startFleet starts an agent on each node, and follows their pods from now on.
func startFleet(t *testing.T, env *harness.Env, nodes []*harness.Node) *fleet {
	t.Helper()
	f := &fleet{t: t, env: env, agents: map[string]*agent{}}
	for _, node := range nodes {
		pod, err := env.AgentPod(t.Context(), node.Name)
		if err != nil {
			t.Fatal(err)
		}
		f.agents[node.Name] = &agent{node: node, process: node.Agent(""), pod: pod.UID}
	}
	var err error
	f.pods, err = env.Client.Watch(t.Context(), &corev1.PodList{}, client.InNamespace(devcluster.Namespace), client.MatchingLabels(oversight.AgentLabels()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.pods.Stop)
	return f
}

// replaceAll goes on until the process of each agent is that of a new pod. before is asked
// when one is about to end. Every fourth does not end in order.
func (f *fleet) replaceAll(before func(*harness.Node)) {
	f.t.Helper()
	tooLong := time.NewTimer(updateTime)
	defer tooLong.Stop()
	for f.replaced < len(f.agents) {
		select {
		case event, open := <-f.pods.ResultChan():
			if !open {
				f.t.Fatalf("of %d agents, %d were replaced when the watch ended", len(f.agents), f.replaced)
			}
			if pod, ok := event.Object.(*corev1.Pod); ok {
				f.saw(pod, event.Type == watch.Deleted, before)
			}
		case <-tooLong.C:
			f.t.Fatalf("of %d agents, %d were replaced in %s", len(f.agents), f.replaced, updateTime)
		}
	}
}

func (f *fleet) saw(pod *corev1.Pod, gone bool, before func(*harness.Node)) {
	f.t.Helper()
	a := f.agents[pod.Spec.NodeName]
	switch {
	case a == nil:
	case pod.UID == a.pod && !a.leaving && (gone || pod.DeletionTimestamp != nil):
		before(a.node)
		a.leaving = true
		const outOfOrder = 4
		if f.replaced%outOfOrder == outOfOrder-1 {
			a.process.Kill()
		} else {
			a.process.Stop()
		}
		f.env.DeleteQuietly(pod)
	case pod.UID != a.pod && a.leaving && !gone:
		a.pod, a.leaving = pod.UID, false
		a.node.ForgetCredentials()
		a.process = a.node.Agent("")
		f.replaced++
	}
}
