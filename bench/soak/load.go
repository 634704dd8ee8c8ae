// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// patience is how long one thing that is asked for may take.
const patience = 15 * time.Minute

var errPatience = fmt.Errorf("it has taken more than %s", patience)

// load is many who ask for things at the same time, each again and again. Those who take nodes out have nodes of
// their own, while budgets are shared by all pods of an app, wherever they are.
type load struct {
	*stage
	lanes []lane

	mu   sync.Mutex
	made map[string]int // what was done, and how often
}

// lane is one of them. It asks for one thing, and returns when that is over; it says what it was.
type lane func(ctx context.Context) (what string, err error)

const (
	drainers = 4
	evicters = 2
	// perDrainer and perMaintainer are how many nodes each has.
	perDrainer    = 5
	perMaintainer = 8
	// inTurn is how often something is called off: once in so many times.
	inTurn = 4
)

// mixedNodes is how many nodes the load needs: the last ones are always in service.
const mixedNodes = drainers*perDrainer + perMaintainer + 4

// mixedPods is how many pods are on each node.
const mixedPods = 10

func newLoad(g *stage) (*load, error) {
	requests, err := g.requestsClient()
	if err != nil {
		return nil, err
	}
	l := &load{stage: g, made: map[string]int{}}
	nodes := g.cluster.Nodes
	for i := range drainers {
		d := &drainer{load: l, random: g.random(i), nodes: nodes[i*perDrainer : (i+1)*perDrainer]}
		l.lanes = append(l.lanes, d.once)
	}
	m := &maintainer{load: l, random: g.random(drainers), nodes: nodes[drainers*perDrainer:][:perMaintainer]}
	l.lanes = append(l.lanes, m.once)
	for i := range evicters {
		e := &evicter{load: l, requests: requests, random: g.random(drainers + 1 + i), id: i}
		l.lanes = append(l.lanes, e.once)
	}
	return l, nil
}

// random is that of one lane, which can be had again.
func (g *stage) random(lane int) *rand.Rand {
	return rand.New(rand.NewPCG(g.settings.seed, uint64(lane)))
}

// keepUp has all ask for one thing after the other, for so long, and returns when the last of them is over.
func (l *load) keepUp(ctx context.Context, how time.Duration) error {
	l.say("%s of drains, maintenances and EvictionRequests", how)
	until := time.Now().Add(how)
	all, ctx := errgroup.WithContext(ctx)
	for _, do := range l.lanes {
		all.Go(func() error {
			for time.Now().Before(until) {
				within, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
				what, err := do(within)
				if err != nil {
					err = fmt.Errorf("%s: %w", what, errors.Join(err, context.Cause(within)))
				}
				cancel()
				if err != nil {
					return err
				}
				l.did(what)
			}
			return nil
		})
	}
	return all.Wait()
}

func (l *load) did(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.made[what]++
	total := 0
	for _, n := range l.made {
		total += n
	}
	const told = 50
	if total%told == 0 {
		l.say("%d things are done: %v", total, l.made)
	}
}

func (l *load) done() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.made)
}

// follow does something, and shows each state of the object of a name since, until it is as wanted. The last state
// of one that is deleted is shown with gone.
func follow[T client.Object](ctx context.Context, c client.WithWatch, list client.ObjectList, name string, do func() error, wanted func(o T, gone bool) (bool, error)) error {
	w, err := c.Watch(ctx, list, client.MatchingFields{"metadata.name": name})
	if err != nil {
		return fmt.Errorf("watch %s: %w", name, err)
	}
	defer w.Stop()
	if err := do(); err != nil {
		return err
	}
	var last T
	for seen := range w.ResultChan() {
		o, ok := seen.Object.(T)
		if !ok {
			return fmt.Errorf("watch %s: %+v", name, seen.Object)
		}
		if done, err := wanted(o, seen.Type == watch.Deleted); done || err != nil {
			return err
		}
		last = o
	}
	text, err := json.Marshal(last)
	return fmt.Errorf("watch %s, last seen as %s: %w", name, text, errors.Join(err, errWatchEnded, context.Cause(ctx)))
}

var errWatchEnded = errors.New("the watch has ended")

// isTrue says whether one of the conditions is.
func isTrue(conditions []metav1.Condition, names ...string) bool {
	for _, name := range names {
		if apimeta.IsStatusConditionTrue(conditions, name) {
			return true
		}
	}
	return false
}
