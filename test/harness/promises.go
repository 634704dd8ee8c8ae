// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/test/auditcheck"
)

// Exception is a promise that a test breaks, or has others break.
type Exception struct {
	cordon bool
	events []string
}

// CordonLeft is that the node is cordoned by us when the test ends. It must be.
var CordonLeft = Exception{cordon: true}

// Unfinished is that the events may be claimed, or not wound up, when the test ends.
func Unfinished(events ...string) Exception { return Exception{events: events} }

// Expect makes an exception of the promises that the audit log is held to at the end of
// the test, for this node. Without one, all are to be kept.
func (n *Node) Expect(exception Exception, why string) {
	n.t.Helper()
	n.promises.excepted = append(n.promises.excepted, exception)
	n.promises.why = append(n.promises.why, why)
}

// promises are those that are made for a node of a test's.
type promises struct {
	from     int // of the changes in the log, the first that can matter
	excepted []Exception
	why      []string
}

// keepPromises has the audit log judged when the test ends, and what runs on the node
// has been stopped: cleanups run in the opposite order.
func (n *Node) keepPromises(from int) {
	n.promises = &promises{from: from}
	n.t.Cleanup(func() {
		broken, err := n.broken()
		if err != nil {
			n.t.Errorf("whether promises were kept: %v", err)
		}
		for _, violation := range broken {
			n.t.Errorf("promise broken: %s", violation)
		}
		if len(broken) > 0 && len(n.promises.why) > 0 {
			n.t.Logf("exceptions: %q", n.promises.why)
		}
	})
}

// tries is how often the log is asked before it is believed that a promise was broken:
// what the last writes have left is in it when they have been answered, and a test may
// have seen them before.
const tries = 3

func (n *Node) broken() (broken []string, err error) {
	options := auditcheck.Options{Nodes: []string{n.Name}}
	for _, e := range n.promises.excepted {
		options.Unfinished = append(options.Unfinished, e.events...)
		if e.cordon {
			options.Cordoned = options.Nodes
		}
	}
	return n.env.broken(n.promises.from, options)
}

// KeepPromises has the audit log judged when the test ends, but for what is promised of
// nodes. What runs on the cluster is to be stopped by then: cleanups run in the opposite
// order.
func (e *Env) KeepPromises(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		broken, err := e.broken(0, auditcheck.Options{Nodes: []string{}})
		if err != nil {
			t.Errorf("whether promises were kept: %v", err)
		}
		for _, violation := range broken {
			t.Errorf("promise broken: %s", violation)
		}
	})
}

func (e *Env) broken(from int, options auditcheck.Options) (broken []string, err error) {
	for range tries {
		if err := e.settle(); err != nil {
			return nil, err
		}
		changes, err := e.log.changes(e.AuditLog)
		if err != nil {
			return nil, err
		}
		if broken = auditcheck.Check(changes[from:], options); len(broken) == 0 {
			return nil, nil
		}
	}
	return broken, nil
}

// settle waits until the log has what was answered so far: until it has a request that
// is made now.
func (e *Env) settle() error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	for {
		var nobody corev1.Node
		mark := "audit-mark-" + e.log.nextMark()
		if err := e.Client.Get(ctx, client.ObjectKey{Name: mark}, &nobody); client.IgnoreNotFound(err) != nil {
			return err
		}
		all, err := e.log.upToNow(e.AuditLog)
		if err != nil {
			return err
		}
		for _, r := range slices.Backward(all) {
			if r.Name == mark {
				return nil
			}
		}
	}
}

// changesSoFar is how many changes the log has.
func (e *Env) changesSoFar(t *testing.T) int {
	t.Helper()
	changes, err := e.log.changes(e.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	return len(changes)
}
