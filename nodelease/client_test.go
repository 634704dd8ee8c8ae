// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
)

// served is a client of an API server that gives the answers of a test, to requests such as
// "GET leases/worker-1". What is a real server's to say is in test/nodelease.
func served(t *testing.T, answers map[string]string) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(r.URL.Path, "/")
		asked := r.Method + " " + strings.Join(parts[len(parts)-2:], "/")
		answer, known := answers[asked]
		if !known {
			t.Errorf("the test has no answer to %s", asked)
		}
		w.Header().Set("Content-Type", "application/json")
		if code := map[string]int{notFound: 404, noNamespace: 404, conflict: 409, forbidden: 403}[answer]; code != 0 {
			w.WriteHeader(code)
		}
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	clients, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clients.RESTClient().(*rest.RESTClient).Client.CloseIdleConnections)
	return New(clients, testingclock.NewFakeClock(noon))
}

// What an API server says.
const (
	node        = `{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker-1","uid":"uid-1"}}`
	free        = `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"worker-1","resourceVersion":"7"},"spec":{"holderIdentity":""}}`
	others      = `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"worker-1","resourceVersion":"7","annotations":{"slipway.dev/purpose":"kernel 6.1"}},"spec":{"holderIdentity":"upgrader","acquireTime":"2026-05-01T11:55:00.000000Z","renewTime":"2026-05-01T11:59:50.000000Z","leaseDurationSeconds":60}}`
	notFound    = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"leases \"worker-1\" not found","reason":"NotFound","details":{"name":"worker-1","kind":"leases"},"code":404}`
	noNamespace = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"namespaces \"kube-node-maintenance\" not found","reason":"NotFound","details":{"name":"kube-node-maintenance","kind":"namespaces"},"code":404}`
	conflict    = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"the object has been modified","reason":"Conflict","code":409}`
	forbidden   = `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"eve cannot","reason":"Forbidden","code":403}`
)

func TestWhatIsWrongIsSaid(t *testing.T) {
	acquire := func(ctx context.Context, c *Client) error {
		_, err := c.Acquire(ctx, "worker-1", "fwup", "firmware", time.Minute)
		return err
	}
	renew := func(ctx context.Context, c *Client) error {
		_, err := c.Renew(ctx, "worker-1", "fwup", "firmware", time.Minute)
		return err
	}
	release := func(ctx context.Context, c *Client) error { return c.Release(ctx, "worker-1", "fwup") }
	for name, tc := range map[string]struct {
		answers map[string]string
		do      func(context.Context, *Client) error
		want    string
	}{
		"somebody else holds it": {
			map[string]string{"GET nodes/worker-1": node, "GET leases/worker-1": others},
			acquire,
			`acquire the lease of node worker-1: the lease of node worker-1 is held by "upgrader" since 2026-05-01T11:55:00Z: kernel 6.1`,
		},
		"there is no such node": {
			map[string]string{"GET nodes/worker-1": notFound},
			acquire,
			`acquire the lease of node worker-1: read node worker-1: leases "worker-1" not found`,
		},
		"there is no namespace": {
			map[string]string{"GET nodes/worker-1": node, "GET leases/worker-1": notFound, "POST kube-node-maintenance/leases": noNamespace},
			acquire,
			`acquire the lease of node worker-1: there is no namespace kube-node-maintenance: create it for the Leases of nodes: namespaces "kube-node-maintenance" not found`,
		},
		"others are always faster": {
			map[string]string{"GET nodes/worker-1": node, "GET leases/worker-1": free, "PUT leases/worker-1": conflict},
			acquire,
			"acquire the lease of node worker-1: write Lease kube-node-maintenance/worker-1: conflicts with other writers, 5 times: the object has been modified",
		},
		"it may not write": {
			map[string]string{"GET nodes/worker-1": node, "GET leases/worker-1": free, "PUT leases/worker-1": forbidden},
			acquire,
			"acquire the lease of node worker-1: write Lease kube-node-maintenance/worker-1: eve cannot",
		},
		"it may not read": {
			map[string]string{"GET leases/worker-1": forbidden},
			renew,
			"renew the lease of node worker-1: read Lease kube-node-maintenance/worker-1: eve cannot",
		},
		"what was broken is not renewed": {
			map[string]string{"GET leases/worker-1": free},
			renew,
			`renew the lease of node worker-1: "fwup" does not hold the lease: the lease is free`,
		},
		"what somebody else holds is not renewed": {
			map[string]string{"GET leases/worker-1": others},
			renew,
			`renew the lease of node worker-1: "fwup" does not hold the lease: the holder is "upgrader"`,
		},
		"nor what has expired": {
			map[string]string{"GET leases/worker-1": strings.NewReplacer("upgrader", "fwup", "T11:59", "T11:58").Replace(others)},
			renew,
			`renew the lease of node worker-1: "fwup" does not hold the lease: it has expired`,
		},
		"what somebody else holds is not given back": {
			map[string]string{"GET leases/worker-1": others},
			release,
			`release the lease of node worker-1: "fwup" does not hold the lease: the holder is "upgrader"`,
		},
		"what went with its node cannot be given back": {
			map[string]string{"GET leases/worker-1": notFound},
			release,
			`release the lease of node worker-1: "fwup" does not hold the lease: the lease is free`,
		},
		"nothing is kept that cannot be had": {
			map[string]string{"GET nodes/worker-1": node, "GET leases/worker-1": others},
			func(ctx context.Context, c *Client) error {
				return c.Keep(ctx, "worker-1", "fwup", "", time.Minute, func(context.Context) error {
					t.Error("it works all the same")
					return nil
				})
			},
			`acquire the lease of node worker-1: the lease of node worker-1 is held by "upgrader" since 2026-05-01T11:55:00Z: kernel 6.1`,
		},
		"leases cannot be listed": {
			map[string]string{"GET kube-node-maintenance/leases": forbidden},
			func(ctx context.Context, c *Client) error {
				_, err := c.List(ctx)
				return err
			},
			"list the Leases in kube-node-maintenance: eve cannot",
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := tc.do(t.Context(), served(t, tc.answers))
			if text(err) != tc.want {
				t.Errorf("the error is\n%v\nwant\n%s", err, tc.want)
			}
			taken, isTaken := errors.AsType[*TakenError](err)
			if isTaken != strings.Contains(tc.want, "is held by") || isTaken && (taken.Node != "worker-1" || taken.Held.Holder != "upgrader") {
				t.Errorf("callers see %+v", taken)
			}
			if errors.Is(err, ErrNotHolder) != strings.Contains(tc.want, "does not hold") {
				t.Errorf("callers see ErrNotHolder: %t", errors.Is(err, ErrNotHolder))
			}
		})
	}
}

func TestWhatCannotBeAskedForIsRefused(t *testing.T) {
	c := served(t, nil) // it is not asked
	for name, tc := range map[string]struct {
		node, holder string
		d            time.Duration
		want         string
	}{
		"no node":   {"", "fwup", time.Minute, `acquire the lease of node "": node: the name of the node is missing`},
		"no holder": {"worker-1", "", time.Minute, `acquire the lease of node "worker-1": holder: the name of the holder is missing`},
		"no time":   {"worker-1", "fwup", 0, `acquire the lease of node "worker-1": duration: 0s must be between 1s and 1h0m0s, and must be renewed before it ends`},
		"too long":  {"worker-1", "fwup", time.Hour + 1, `acquire the lease of node "worker-1": duration: 1h0m0.000000001s must be between 1s and 1h0m0s, and must be renewed before it ends`},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.Acquire(t.Context(), tc.node, tc.holder, "", tc.d); text(err) != tc.want {
				t.Errorf("the error is\n%v\nwant\n%s", err, tc.want)
			}
			if _, err := c.Renew(t.Context(), tc.node, tc.holder, "", tc.d); text(err) != strings.Replace(tc.want, "acquire", "renew", 1) {
				t.Errorf("the error of Renew is %v", err)
			}
		})
	}
	if err := c.Release(t.Context(), "worker-1", ""); text(err) != `release the lease of node "worker-1": holder: the name of the holder is missing` {
		t.Errorf("the error of Release is %v", err)
	}
}
