// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// ruleWatch keeps the rules of a namespace for one Drain.
type ruleWatch struct {
	stop  context.CancelFunc
	ended chan struct{}

	mu    sync.Mutex
	rules []Rule
	known bool
	err   error
}

func startRuleWatch(ctx context.Context, reader RuleReader, namespace string, wake signal) *ruleWatch {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // it ends when the Drain leaves the namespace
	w := &ruleWatch{stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		reader.Follow(ctx, namespace, func(rules []Rule, err error) {
			w.take(rules, err)
			wake.poke()
		})
	}()
	return w
}

func (w *ruleWatch) take(rules []Rule, err error) {
	if err == nil {
		err = checkRules(rules)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	switch {
	case err == nil:
		w.rules, w.known = slices.SortedFunc(slices.Values(rules), compareRules), true
	case errors.Is(err, ErrBadRule):
		w.known = false
	}
}

func checkRules(rules []Rule) error {
	for _, r := range rules {
		switch {
		case r.Pods == nil:
			return fmt.Errorf("%w: %s selects no pods", ErrBadRule, r.Name)
		case r.Behavior != Evict && r.Behavior != Skip && r.Behavior != WaitCompleted:
			return fmt.Errorf("%w: %s has the behavior %q", ErrBadRule, r.Name, r.Behavior)
		}
	}
	return nil
}

func (w *ruleWatch) list() (rules []Rule, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rules, w.known
}

// Synced reports whether rules are in force.
func (w *ruleWatch) Synced() bool {
	_, known := w.list()
	return known
}

// Err says why the rules cannot be read now.
func (w *ruleWatch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *ruleWatch) close() {
	w.stop()
	<-w.ended
}
