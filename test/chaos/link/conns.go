// SPDX-License-Identifier: Apache-2.0

package link

import (
	"net"
	"sync"
)

// gate stops connections.
type gate struct {
	mu      sync.Mutex
	refuses bool
	opened  chan struct{} // closed while it is open
}

func (g *gate) refuse(yes bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuses = yes
}

func (g *gate) hang() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.opened:
		g.opened = make(chan struct{})
	default:
	}
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refuses = false
	select {
	case <-g.opened:
	default:
		close(g.opened)
	}
}

func (g *gate) state() (refuses bool, opened <-chan struct{}) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.refuses, g.opened
}

// listener accepts connections that the gate can stop.
type listener struct {
	net.Listener
	gate *gate

	mu    sync.Mutex
	conns map[*conn]bool
}

func newListener(inner net.Listener) *listener {
	l := &listener{Listener: inner, gate: &gate{opened: make(chan struct{})}, conns: map[*conn]bool{}}
	close(l.gate.opened)
	return l
}

// Accept resets what comes while the gate refuses, as a machine does without a listener.
func (l *listener) Accept() (net.Conn, error) {
	for {
		inner, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: inner, of: l, closed: make(chan struct{})}
		l.mu.Lock()
		refuses, _ := l.gate.state()
		l.conns[c] = !refuses
		l.mu.Unlock()
		if !refuses {
			return c, nil
		}
		c.reset()
	}
}

func (l *listener) cutAll() {
	l.mu.Lock()
	var all []*conn
	for c := range l.conns {
		all = append(all, c)
	}
	l.mu.Unlock()
	for _, c := range all {
		c.reset()
	}
}

// conn is one connection.
type conn struct {
	net.Conn
	of     *listener
	once   sync.Once
	closed chan struct{}
}

// passes waits until the gate is open.
func (c *conn) passes() error {
	_, opened := c.of.gate.state()
	select {
	case <-opened:
		return nil
	case <-c.closed:
		return net.ErrClosed
	}
}

// Read holds back what has come while the gate is closed.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if hung := c.passes(); hung != nil {
		return 0, hung
	}
	return n, err
}

// Write waits while the gate is closed.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.passes(); err != nil {
		return 0, err
	}
	return c.Conn.Write(b)
}

// reset closes it with an RST.
func (c *conn) reset() {
	if tcp, ok := c.Conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // it may be closed already
	}
	_ = c.Close()
}

// Close closes it.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.closed)
		c.of.mu.Lock()
		delete(c.of.conns, c)
		c.of.mu.Unlock()
	})
	return c.Conn.Close()
}
