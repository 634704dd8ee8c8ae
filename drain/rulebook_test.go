// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/slipway-k8s/slipway/drain"
)

// ruleBook tells the rules that a test has written into it.
type ruleBook struct {
	mu      sync.Mutex
	rules   []drain.Rule
	err     error
	changed chan struct{}
}

func newRuleBook(rules ...drain.Rule) *ruleBook {
	return &ruleBook{rules: rules, changed: make(chan struct{})}
}

func (b *ruleBook) use(c *drain.Config) { c.Rules = b }

func (b *ruleBook) set(rules ...drain.Rule) { b.write(rules, nil) }

func (b *ruleBook) fail(err error) { b.write(nil, err) }

func (b *ruleBook) write(rules []drain.Rule, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rules, b.err = rules, err
	close(b.changed)
	b.changed = make(chan struct{})
}

// Follow implements drain.RuleReader.
func (b *ruleBook) Follow(ctx context.Context, _ string, tell func([]drain.Rule, error)) {
	for {
		b.mu.Lock()
		rules, err, changed := b.rules, b.err, b.changed
		b.mu.Unlock()
		tell(rules, err)
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// ruleFor is a rule of the namespace for an app.
func ruleFor(app string, behavior drain.Behavior, change ...func(*drain.Rule)) drain.Rule {
	r := drain.Rule{Name: "rule-" + app, Pods: labels.SelectorFromSet(labels.Set{"app": app}), Behavior: behavior}
	for _, c := range change {
		c(&r)
	}
	return r
}
