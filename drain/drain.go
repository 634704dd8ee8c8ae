// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

const defaultEvictionTimeout = 30 * time.Second

// Config configures a Drainer. Pods and Budgets are required.
type Config struct {
	// Pods reads the node and its pods, and evicts, within the rate limit of the client. (The default of client-go is 5 requests
	// a second, and limits the pace of a drain without budgets.) It needs the permissions of a kubelet on its own node:
	// the list and watch verbs on pods with the field selector spec.nodeName, list and watch on nodes with the field selector
	// metadata.name, create on pods/eviction; for an Escalation, delete on pods; and if pods that stay have volume
	// claims, the get verb on persistentvolumeclaims and persistentvolumes.
	Pods corev1client.CoreV1Interface

	// Budgets reads PodDisruptionBudgets (PDBs): list and watch on poddisruptionbudgets in each namespace that has pods on the
	// node. It may be another identity than Pods, as no node may read budgets.
	Budgets policyv1client.PolicyV1Interface

	// Rules reads the rules by which pods leave. Nil means that no rules exist.
	Rules RuleReader

	// Responders reads the progress of Evictions (KEP-4563). Nil means that no Evictions exist: the drain evicts all pods.
	Responders ResponderReader

	// StaticPods returns the Removal of a static pod that a Target covers (PodTypeStatic). Nil means that no process removes
	// static pods. It must be pure: each decision of the drain calls it, with the Node from the watch.
	StaticPods func(*corev1.Node, *corev1.Pod) Removal

	// Shutdown returns the beginning of a shutdown of the node's machine, by Clock, and the time from then until the machine
	// stops. Zero length: the machine does not stop. Zero since: the drain does not know when, and does not share out the time.
	// Nil means that no machine stops. It must be pure, as StaticPods.
	Shutdown func(*corev1.Node) (since time.Time, length time.Duration)

	// OwnNamespace, if set, is the namespace of the controllers and agents that drain. Its pods leave after all other pods, and
	// the pods of its DaemonSets never: without them the drain would not end.
	OwnNamespace string

	// Clock is the time and the timers of the drain. Nil means the machine's clock.
	Clock clock.Clock
	// ServerClock is the time of the API server, which dates the end of pods: Escalation.KillAfter and the Reason Terminating
	// depend on it. Nil means Clock.
	ServerClock clock.PassiveClock

	// EvictionTimeout limits one eviction request, not the drain. Zero means 30 s.
	EvictionTimeout time.Duration

	// OnEvicted, if set, is called after each eviction that the server accepted, before the next decision of
	// that drain. Calls of one Drain do not overlap; calls of several Drains may. It must not block long.
	OnEvicted func(pod types.NamespacedName)

	// Observer, if set, counts the evictions and refusals.
	Observer Observer
}

// Drainer drains nodes, and evicts single pods. Its methods may be called from several goroutines: all calls to one Drainer
// share the watches of budgets and the rule that each budget has at most one eviction in flight. It runs no goroutine
// outside such a call.
type Drainer struct {
	config  Config
	evictor evictor
	budgets *budgetWatches
	queue   *budgetQueue
	pods    watchstore.Shared[string, *pendingEviction, *podLoop]
}

// New returns a Drainer. It makes no request.
func New(config Config) (*Drainer, error) {
	if config.Pods == nil || config.Budgets == nil {
		return nil, errors.New("drain: Config.Pods and Config.Budgets are required")
	}
	if config.EvictionTimeout < 0 {
		return nil, fmt.Errorf("drain: Config.EvictionTimeout is %s, it must not be negative", config.EvictionTimeout)
	}
	config.EvictionTimeout = cmp.Or(config.EvictionTimeout, defaultEvictionTimeout)
	config.Clock = cmp.Or[clock.Clock](config.Clock, clock.RealClock{})
	config.ServerClock = cmp.Or[clock.PassiveClock](config.ServerClock, config.Clock)
	q := newBudgetQueue(config.Clock)
	return &Drainer{
		config: config, evictor: newEvictor(config.Pods, config.EvictionTimeout), queue: q,
		budgets: &budgetWatches{client: config.Budgets, queue: q},
	}, nil
}

// Drain evicts the pods of a node and returns nil when the node is drained (see the package comment for the definition). Until
// then it blocks, and tries again after each answer of the API server: it reports refusals, overload and outages as
// Blockers. It returns an error only if the request itself is wrong, if neither the node nor a pod of it exists, or if ctx
// ends: then that error is context.Cause(ctx).
//
// After ctx has ended Drain sends no eviction. It waits 5 s for the answers to evictions in flight, cuts them off then, and
// returns without a request in flight. (The server may still finish such an eviction.)
//
// report, if not nil, is called with each change of the Status, from one goroutine at a time. While report is busy, a newer
// Status replaces the next one; the last Status is always reported. Drain does not call report after its return.
func (d *Drainer) Drain(ctx context.Context, req Request, report func(Status)) error {
	if err := req.validate(); err != nil {
		return err
	}
	r := newRun(d, req)
	reporter := newStatusReporter(report)
	defer reporter.close()
	return r.drain(ctx, reporter)
}
