// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// gather returns the current facts. It sends no request; for a namespace that came or went, it begins or ends the
// watches.
func (r *run) gather(ctx context.Context) facts {
	f := r.facts()
	f.nodeName, f.request, f.own = r.req.NodeName, r.req, r.d.config.OwnNamespace
	nodes, known := r.node.List()
	f.node = nodeFacts{known: known}
	var node *corev1.Node
	if i := slices.IndexFunc(nodes, func(n *corev1.Node) bool { return n.Name == r.req.NodeName }); i >= 0 {
		node = nodes[i]
		f.node = nodeFactsOf(node)
		if r.d.config.Shutdown != nil {
			f.shutdown.since, f.shutdown.length = r.d.config.Shutdown(node)
		}
	}
	f.pods, f.podsKnown = r.pods.List()
	f.pods = scope(f.nodeName, f.pods)
	pods := covered(f.pods, r.req, f.own)
	r.nodeSeen = r.nodeSeen || f.node.exists
	r.saw(pods, r.pods.Has)
	r.fill(&f)
	f.statics = staticsOf(node, pods, r.d.config.StaticPods)
	by := map[string][]*corev1.Pod{}
	for _, pod := range pods {
		by[pod.Namespace] = append(by[pod.Namespace], pod)
	}
	r.join(ctx, by)
	f.ruled, f.rules, f.rulesBad = r.d.config.Rules != nil, map[string][]Rule{}, map[string]bool{}
	for namespace, w := range r.rules {
		if rules, known := w.list(); known {
			f.rules[namespace] = rules
		}
		f.rulesBad[namespace] = w.Err() != nil
	}
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
	f.reading, f.readingLate = r.reading(f.now, f.responders.Err)
	return f
}

// join watches the budgets and rules of exactly the namespaces that have pods in scope.
func (r *run) join(ctx context.Context, by map[string][]*corev1.Pod) {
	for namespace := range by {
		if r.budgets[namespace] != nil {
			continue
		}
		r.budgets[namespace] = r.d.budgets.join(ctx, namespace, r.wake)
		if r.d.config.Rules != nil {
			r.rules[namespace] = startRuleWatch(ctx, r.d.config.Rules, namespace, r.wake)
		}
		r.joined[namespace] = r.d.config.Clock.Now()
	}
	for namespace := range r.budgets {
		if by[namespace] == nil {
			r.leave(namespace)
		}
	}
}

// leave ends the watches of a namespace.
func (r *run) leave(namespace string) {
	r.budgets[namespace].leave()
	delete(r.budgets, namespace)
	delete(r.joined, namespace)
	if w, ok := r.rules[namespace]; ok {
		w.close()
		delete(r.rules, namespace)
	}
}

// readLate is the time after which a read without an answer counts as failed.
const readLate = 10 * time.Second

// reading returns the failed reads, and the time at which a read without an answer will be one.
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

// reading collects failed reads.
type reading struct {
	now    time.Time
	failed []obstacle
	late   time.Time
}

func (r *reading) note(what string, err error) {
	if err != nil {
		r.failed = append(r.failed, *unreadable(what, err))
	}
}

// await records a read that fails, or has had no answer for readLate since the time. It returns the beginning of that time for
// the next call: after a failure, the answer needs a moment.
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

const readEvictions = "evictions (lifecycle.k8s.io)"

func rulesOf(namespace string) string { return "drain rules of namespace " + namespace }

var errNotRead = errors.New("the server has not answered")

func unreadable(what string, err error) *obstacle {
	switch {
	case errors.Is(err, ErrBadRule):
		return RuleInvalid.obstacle(what, "the %s cannot be understood (%s), so the pods that they select stay", what, brief(err))
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return ReadRefused.obstacle(what, "the %s cannot be read (%s)", what, brief(err))
	default:
		return APIServerUnavailable.obstacle(what, "the %s cannot be read now (%s); the drain tries again until it can", what, brief(err))
	}
}
