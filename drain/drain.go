// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
	"k8s.io/utils/clock"
)

const defaultEvictionTimeout = 30 * time.Second

// Config is what a Drainer needs. Pods and Budgets are required.
type Config struct {
	// Pods reads the node and its pods, and evicts, within the rate limit of the client (client-go's own is 5 requests a
	// second, which is the pace of a drain without budgets then). It needs no more permissions than a kubelet has on its own node:
	// list and watch on pods with the field selector spec.nodeName, list and watch on nodes with the field selector
	// metadata.name, create on pods/eviction; for an Escalation, delete on pods; and where pods that stay have volume
	// claims, get on persistentvolumeclaims and persistentvolumes.
	Pods corev1client.CoreV1Interface

	// Budgets reads disruption budgets: list and watch on poddisruptionbudgets in each namespace that has pods on the
	// node. It may be another identity than Pods, as no node may read budgets.
	Budgets policyv1client.PolicyV1Interface

	// Rules tells how pods leave. Nil means that there are no rules.
	Rules RuleReader

	// Responders tells what becomes of Evictions (KEP-4563). Nil means that there are none: all pods are evicted.
	Responders ResponderReader

	// StaticPods tells by the Node what becomes of a static pod there that a Target covers (PodTypeStatic). Nil means that
	// no process takes static pods away. It must be pure: it is called each time that the drain decides, with the Node as it is
	// watched.
	StaticPods func(*corev1.Node, *corev1.Pod) Removal

	// OwnNamespace, if set, is the namespace of the controllers and agents that drain. Its pods leave after all others, and
	// those of its DaemonSets never: without them the drain would not end.
	OwnNamespace string

	// Clock tells the time and makes the timers of the drain. Nil means the real one.
	Clock clock.Clock
	// ServerClock tells what time it is for the API server, which dates by it until when a pod may take to end: it is what
	// Escalation.KillAfter goes by, and when a pod is overdue. Nil means Clock, which is right as long as it goes like the
	// server's.
	ServerClock clock.PassiveClock

	// EvictionTimeout bounds one eviction request, not the drain. Zero means 30 s.
	EvictionTimeout time.Duration

	// OnEvicted, if set, is called after each eviction that the server accepted, before anything else is decided for
	// that drain. Calls of one Drain do not overlap; those of several Drains may. It must not block long.
	OnEvicted func(pod types.NamespacedName)

	// Observer, if set, is told what becomes of evictions, to count them.
	Observer Observer
}

// Drainer drains nodes, and evicts pods wherever they are. Its methods may be called from several goroutines: all calls
// to one Drainer share the watches of budgets and the rule that each budget has at most one eviction in flight. It runs
// nothing while none of them goes on.
type Drainer struct {
	config  Config
	evictor evictor
	budgets *budgetWatches
	queue   *budgetQueue
	pods    *podEvictions
}

// New returns a Drainer. It makes no request.
func New(config Config) (*Drainer, error) {
	if config.Pods == nil || config.Budgets == nil {
		return nil, errors.New("drain: Config.Pods and Config.Budgets are required")
	}
	if config.EvictionTimeout < 0 {
		return nil, fmt.Errorf("drain: Config.EvictionTimeout is %s, it must not be negative", config.EvictionTimeout)
	}
	if config.EvictionTimeout == 0 {
		config.EvictionTimeout = defaultEvictionTimeout
	}
	if config.Clock == nil {
		config.Clock = clock.RealClock{}
	}
	if config.ServerClock == nil {
		config.ServerClock = config.Clock
	}
	l := newBudgetQueue(config.Clock)
	d := &Drainer{
		config:  config,
		evictor: newEvictor(config.Pods, config.EvictionTimeout),
		budgets: newBudgetWatches(config.Budgets, l),
		queue:   l,
	}
	d.pods = &podEvictions{d: d, by: map[string]*podLoop{}}
	return d, nil
}

// Drain evicts the pods of a node and returns nil when the node is drained (see the package comment for what that
// means). Until then it blocks, whatever the API server answers: refusals, overload and outages are reported as
// Blockers and tried again. It returns an error only if the request itself is wrong, if there is no such node and no pod
// of it, or if ctx ends: then that error is context.Cause(ctx).
//
// After ctx has ended no eviction is sent. One that is on its way then has 5 s to be answered and is cut off after that;
// Drain returns when no request of its own is in flight. (The server may still finish one that was cut off.)
//
// report, if not nil, is called with each change of the Status, from one goroutine at a time. A Status that is replaced
// while report is busy is left out; the last one never is. report is not called after Drain has returned.
func (d *Drainer) Drain(ctx context.Context, req Request, report func(Status)) error {
	if err := req.validate(); err != nil {
		return err
	}
	r := newRun(d, req)
	reporter := newStatusReporter(report)
	defer reporter.close()
	return r.drain(ctx, reporter)
}
