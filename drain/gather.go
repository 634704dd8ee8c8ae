// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// gather puts together what is known now. It asks the server nothing; where a namespace has come or gone it begins or
// ends the watch of its budgets.
func (r *run) gather(ctx context.Context) facts {
	f := r.facts()
	f.nodeName, f.request, f.own = r.req.NodeName, r.req, r.d.config.OwnNamespace
	f.node = r.nodeFacts()
	f.pods, f.podsKnown = r.pods.List()
	f.pods = scope(f.nodeName, f.pods)
	pods := covered(f.pods, r.req.Targets, f.own)
	r.saw(pods, r.pods.Has)
	r.fill(&f)
	f.statics = r.statics(pods)
	by := byNamespace(pods)
	r.join(ctx, by)
	r.sawNode(f.node)
	r.gatherRules(&f)
	failed := r.node.Err() != nil || r.pods.Err() != nil
	f.unheard = map[string]bool{}
	for namespace, w := range r.budgets {
		f.unheard[namespace] = failed || w.Err() != nil
		r.gatherBudgets(&f, w, namespace, by[namespace])
	}
	f.responders, f.respondersLate = Responders{Known: true}, r.began.Add(readLate)
	if reader := r.d.config.Responders; reader != nil {
		f.responders = reader.Responders(pods)
	}
	r.opened.saw(f.budgets, f.now)
	r.opened.keep(f.budgets)
	f.reading, f.readingLate = r.reading(f.now, f.responders.Err)
	return f
}

func byNamespace(pods []*corev1.Pod) map[string][]*corev1.Pod {
	by := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		by[pod.Namespace] = append(by[pod.Namespace], pod)
	}
	return by
}

func (r *run) gatherRules(f *facts) {
	f.ruled, f.rules, f.rulesBad = r.d.config.Rules != nil, map[string][]Rule{}, map[string]bool{}
	for namespace, w := range r.rules {
		if rules, known := w.list(); known {
			f.rules[namespace] = rules
		}
		f.rulesBad[namespace] = w.Err() != nil
	}
}

func (r *run) nodeFacts() nodeFacts {
	nodes, known := r.node.List()
	for _, node := range nodes {
		if node.Name == r.req.NodeName {
			return nodeFactsOf(node)
		}
	}
	return nodeFacts{known: known}
}

// join watches the budgets and rules of exactly the namespaces that have pods in scope.
func (r *run) join(ctx context.Context, by map[string][]*corev1.Pod) {
	for namespace := range by {
		if r.budgets[namespace] == nil {
			r.budgets[namespace] = &guarding{budgetWatch: r.d.budgets.join(ctx, namespace, r.wake)}
			r.followRules(ctx, namespace)
			r.joined[namespace] = r.d.config.Clock.Now()
		}
	}
	for namespace := range r.budgets {
		if by[namespace] == nil {
			r.leave(namespace)
		}
	}
}

func (r *run) followRules(ctx context.Context, namespace string) {
	if r.d.config.Rules != nil {
		r.rules[namespace] = startRuleWatch(ctx, r.d.config.Rules, namespace, r.wake)
	}
}

// leave ends the watches of a namespace.
func (r *run) leave(namespace string) {
	r.d.budgets.leave(namespace, r.wake)
	delete(r.budgets, namespace)
	delete(r.joined, namespace)
	if w, ok := r.rules[namespace]; ok {
		w.close()
		delete(r.rules, namespace)
	}
}

// readLate is how long a read may take before it is said that it takes long.
const readLate = 10 * time.Second

// reading lists what cannot be read now, and says when what has not been read yet will belong to it.
func (r *run) reading(now time.Time, responders error) (all []obstacle, late time.Time) {
	reads := reading{now: now}
	reads.note("node "+r.req.NodeName, r.node.Err())
	reads.note("pods of node "+r.req.NodeName, r.pods.Err())
	for namespace, w := range r.budgets {
		r.joined[namespace] = reads.await("budgets of namespace "+namespace, r.joined[namespace], w)
	}
	for namespace, w := range r.rules {
		r.joined[namespace] = reads.await(rulesOf(namespace), r.joined[namespace], w)
	}
	reads.note(readEvictions, responders)
	reads.note("last look at node "+r.req.NodeName, r.memory.last.err)
	reads.note("volumes of pods that stay on node "+r.req.NodeName, r.claimRead.err)
	slices.SortFunc(reads.failed, func(a, b obstacle) int { return strings.Compare(a.by, b.by) })
	return reads.failed, reads.late
}

// reading collects what cannot be read.
type reading struct {
	now    time.Time
	failed []obstacle
	// late is when something that has not been read yet will be one more.
	late time.Time
}

func (r *reading) note(what string, err error) {
	if err != nil {
		r.failed = append(r.failed, unreadable(what, err))
	}
}

// await records what cannot be read, or has not been read for readLate since the time. It returns since when to count next:
// what can be read again takes a moment to be known.
func (r *reading) await(what string, since time.Time, of interface {
	Synced() bool
	Err() error
},
) time.Time {
	err, due := of.Err(), since.Add(readLate)
	switch {
	case err != nil:
		since = r.now
	case of.Synced():
	case r.now.Before(due):
		r.late = earlier(r.late, due)
	default:
		err = errNotRead
	}
	r.note(what, err)
	return since
}

// readEvictions is what is being read of responders.
const readEvictions = "evictions (lifecycle.k8s.io)"

func rulesOf(namespace string) string { return "drain rules of namespace " + namespace }

var errNotRead = errors.New("the server has not answered")

func unreadable(what string, err error) obstacle {
	if errors.Is(err, ErrBadRule) {
		return obstacle{RuleInvalid, what, RuleInvalid.advise(fmt.Sprintf("the %s cannot be understood (%s), so the pods that they "+
			"speak of stay", what, brief(err)))}
	}
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return obstacle{ReadRefused, what, ReadRefused.advise(fmt.Sprintf("the %s cannot be read (%s)", what, brief(err)))}
	}
	return obstacle{APIServerUnavailable, what, APIServerUnavailable.advise(fmt.Sprintf("the %s cannot be read now (%s); it is tried "+
		"again until it can", what, brief(err)))}
}
