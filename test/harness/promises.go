// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// Exception is an invariant that a test violates on purpose.
type Exception struct {
	cordon bool
	events []string
}

// CordonLeft is that the node is cordoned by us when the test ends. It must be.
var CordonLeft = Exception{cordon: true}

// Unfinished is that the events may be claimed, or not wound up, when the test ends.
func Unfinished(events ...string) Exception { return Exception{events: events} }

// Expect makes an exception of the invariants that the audit log is checked for at the end of the test, for this
// node.
func (n *Node) Expect(exception Exception, why string) {
	n.t.Helper()
	n.promises.excepted = append(n.promises.excepted, exception)
	n.promises.why = append(n.promises.why, why)
}

// promises are the invariants for a node of a test.
type promises struct {
	excepted []Exception
	why      []string
}

// keepPromises has the audit log judged when the test ends and the processes on the node have
// stopped: cleanups run in the opposite order.
func (n *Node) keepPromises(from int) {
	n.promises = &promises{}
	n.t.Cleanup(func() { // after the judgment
		if n.t.Failed() && len(n.promises.why) > 0 {
			n.t.Logf("exceptions: %q", n.promises.why)
		}
	})
	n.env.judgeAtEnd(n.t, from, func() auditcheck.Options {
		options := auditcheck.Options{Nodes: []string{n.Name}}
		for _, e := range n.promises.excepted {
			options.Unfinished = append(options.Unfinished, e.events...)
			if e.cordon {
				options.Cordoned = options.Nodes
			}
		}
		return options
	})
}

// KeepPromises checks the audit log when the test ends, without the invariants about nodes. The processes on the
// cluster must have stopped by then: cleanups run in the opposite order.
func (e *Env) KeepPromises(t *testing.T) {
	t.Helper()
	e.judgeAtEnd(t, 0, func() auditcheck.Options { return auditcheck.Options{Nodes: []string{}} })
}

// KeepAllPromises has the audit log judged when the test ends, for all nodes, from now on. The
// processes on the cluster have to be stopped by then: cleanups run in the opposite order. It
// calls options then.
func (e *Env) KeepAllPromises(t *testing.T, options func() auditcheck.Options) {
	t.Helper()
	e.judgeAtEnd(t, e.changesSoFar(t), options)
}

func (e *Env) judgeAtEnd(t *testing.T, from int, options func() auditcheck.Options) {
	t.Helper()
	t.Cleanup(func() {
		broken, err := e.broken(from, options())
		if err != nil {
			t.Errorf("judging the audit log: %v", err)
		}
		for _, violation := range broken {
			t.Errorf("promise broken: %s", violation)
		}
	})
}

// tries is the number of reads of the log before a violation is reported: the server writes the log after its
// answers, which a test may have seen before.
const tries = 3

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

// settle waits until the log has all requests that were answered so far.
func (e *Env) settle() error {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	return auditlog.Settle(ctx, func(ctx context.Context, name string) error {
		return e.Client.Get(ctx, client.ObjectKey{Name: name}, &corev1.Node{})
	}, func() ([]auditlog.Request, error) { return e.log.upToNow(e.AuditLog) })
}

// changesSoFar counts the changes in the log.
func (e *Env) changesSoFar(t *testing.T) int {
	t.Helper()
	changes, err := e.log.changes(e.AuditLog)
	if err != nil {
		t.Fatal(err)
	}
	return len(changes)
}
