// SPDX-License-Identifier: Apache-2.0

package link

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"log"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"

	"k8s.io/client-go/rest"
)

// Link is one process's way to the API server.
type Link struct {
	server  *httptest.Server
	through *http.Transport
	conns   *listener
	watches watches

	mu     sync.Mutex
	rng    *rand.Rand
	per100 int
	asked  int            // requests
	seen   map[string]int // mishaps, by kind
}

// Open opens a link to the server of the credentials. per100 of 100 requests fail, the same for the same seed as far
// as requests come in the same order.
func Open(to *rest.Config, seed uint64, per100 int) (*Link, error) {
	target, err := url.Parse(to.Host)
	if err != nil {
		return nil, fmt.Errorf("parse %s: %w", to.Host, err)
	}
	trust, err := rest.TLSConfigFor(rest.AnonymousClientConfig(to))
	if err != nil {
		return nil, fmt.Errorf("whom to trust as %s: %w", to.Host, err)
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("open a link to %s: %w", to.Host, err)
	}
	l := &Link{
		through: &http.Transport{TLSClientConfig: trust, ForceAttemptHTTP2: true},
		watches: newWatches(),
		conns:   newListener(inner), rng: rand.New(rand.NewPCG(seed, 1)), per100: per100, seen: map[string]int{},
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); inJSON(r.Out) },
		// A client that watches must see each line at once.
		FlushInterval: -1, Transport: l.through,
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Context().Value(lostAnswer{}) != nil {
				_ = r.Body.Close()
				return errLost
			}
			l.watches.follow(r)
			return nil
		},
		// A server that is down does not answer, so the proxy does not answer either.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(&bytes.Buffer{}, "", 0),
	}
	l.server = httptest.NewUnstartedServer(l.mishaps(proxy))
	_ = l.server.Listener.Close() // httptest opens one that is not used
	l.server.Listener, l.server.EnableHTTP2 = l.conns, true
	l.server.Config.ErrorLog = proxy.ErrorLog // it reports each connection that was cut
	l.server.StartTLS()
	return l, nil
}

// Config are the given credentials, for use over the link. They are a bearer token.
func (l *Link) Config(of *rest.Config) *rest.Config {
	config := rest.AnonymousClientConfig(of)
	config.Host, config.BearerToken = l.server.URL, of.BearerToken
	config.TLSClientConfig = rest.TLSClientConfig{
		CAData: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: l.server.Certificate().Raw}),
	}
	return config
}

// Close ends it.
func (l *Link) Close() {
	l.Mend()
	l.conns.cutAll()
	l.server.Close()
	l.through.CloseIdleConnections()
}

// Cut ends all connections and refuses new ones, until Mend.
func (l *Link) Cut() {
	l.conns.gate.refuse(true)
	l.conns.cutAll()
}

// Hang stops all traffic without ending a connection, until Mend: then the traffic continues.
func (l *Link) Hang() { l.conns.gate.hang() }

// Mend undoes Cut and Hang.
func (l *Link) Mend() { l.conns.gate.open() }

// Expire ends all watches as a server does that has forgotten what they ask about, and
// returns how many there were: if there are none, it waits for the first one.
func (l *Link) Expire(ctx context.Context) (int, error) {
	for {
		n, opened := l.watches.expire()
		if n > 0 {
			return n, nil
		}
		select {
		case <-opened:
		case <-ctx.Done():
			return 0, fmt.Errorf("there is no watch to expire: %w", context.Cause(ctx))
		}
	}
}

// Calm has nothing go wrong by itself any longer.
func (l *Link) Calm() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.per100 = 0
}

// Mishaps returns the number of mishaps by kind, and the number of requests.
func (l *Link) Mishaps() (seen map[string]int, asked int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.seen), l.asked
}
