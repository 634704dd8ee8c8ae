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
	"k8s.io/apimachinery/pkg/types"
)

// gather puts together what is known now. It asks the server nothing; where a namespace has come or gone it begins or
// ends the watch of its budgets.
func (r *run) gather(ctx context.Context) facts {
	f := facts{
		now:      r.d.config.Clock.Now(),
		nodeName: r.req.NodeName,
		request:  r.req,
		own:      r.d.config.OwnNamespace,
		budgets:  map[string][]*budget{},
		ruled:    r.d.config.Rules != nil,
		rules:    map[string][]Rule{},
		rulesBad: map[string]bool{},

		budgetsBad: map[string]bool{},
		unheard:    map[string]bool{},
		slots:      map[types.UID]time.Time{},
	}
	f.ahead = r.d.config.ServerClock.Now().Sub(f.now)
	f.node = r.nodeFacts()
	version := r.pods.Version() // before the list, which may be newer
	f.pods, f.podsKnown = r.pods.List()
	f.pods = scope(f.nodeName, f.pods)
	pods := covered(f.pods, r.req.Targets, f.own)
	r.saw(pods, r.pods.Has)
	r.tell(&f)
	f.statics = r.statics(pods)
	r.join(ctx, pods)
	r.sawNode(f.node)
	for namespace, w := range r.rules {
		if rules, known := w.list(); known {
			f.rules[namespace] = rules
		}
		f.rulesBad[namespace] = w.trouble() != nil
	}
	failed := r.node.Err() != nil || r.pods.Err() != nil
	for namespace, w := range r.budgets {
		f.unheard[namespace] = failed || w.Err() != nil
		budgets, complete := w.among(pods, version, r.wake)
		if !complete {
			f.budgetsBad[namespace] = w.Err() != nil
			continue
		}
		f.budgets[namespace] = budgets
		for _, b := range budgets {
			if until, busy := r.d.ledger.busy(b, r.wake); busy {
				f.slots[b.UID] = until
			}
		}
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
func (r *run) join(ctx context.Context, pods []*corev1.Pod) {
	wanted := map[string]bool{}
	for _, pod := range pods {
		wanted[pod.Namespace] = true
		if r.budgets[pod.Namespace] == nil {
			r.budgets[pod.Namespace] = &guarding{budgetWatch: r.d.budgets.join(ctx, pod.Namespace, r.wake)}
			r.followRules(ctx, pod.Namespace)
			r.joined[pod.Namespace] = r.d.config.Clock.Now()
		}
	}
	for namespace := range r.budgets {
		if !wanted[namespace] {
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
	note := func(what string, err error) {
		if err != nil {
			all = append(all, unreadable(what, err))
		}
	}
	note("node "+r.req.NodeName, r.node.Err())
	note("pods of node "+r.req.NodeName, r.pods.Err())
	wait := func(what, namespace string, known bool, err error) {
		if due := r.joined[namespace].Add(readLate); !known && err == nil {
			if err = errNotRead; now.Before(due) {
				late = earlier(late, due)
				return
			}
		}
		note(what, err)
	}
	for namespace, w := range r.budgets {
		wait("budgets of namespace "+namespace, namespace, w.Synced(), w.Err())
	}
	for namespace, w := range r.rules {
		_, known := w.list()
		wait(rulesOf(namespace), namespace, known, w.trouble())
	}
	note(readEvictions, responders)
	note("last look at node "+r.req.NodeName, r.book.last.err)
	note("volumes of pods that stay on node "+r.req.NodeName, r.puzzle.err)
	slices.SortFunc(all, func(a, b obstacle) int { return strings.Compare(a.by, b.by) })
	return all, late
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
