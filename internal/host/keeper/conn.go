// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"
)

// patience is the maximum time for an answer. A keeper answers at once; while a client waits for a frozen one, it
// would not see a shutdown.
const patience = 5 * time.Second

// Conn is a connection to a keeper, for one goroutine.
type Conn struct {
	conn     *net.UnixConn
	patience time.Duration

	done chan struct{} // receives after each message that the keeper has processed
	gone chan struct{}
}

// Connect connects to the keeper behind the socket at path. lock is the keeper's lock, which the caller must close; nil
// if the keeper has none.
func Connect(ctx context.Context, path string) (c *Conn, lock *os.File, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, network, path)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the keeper: %w", err)
	}
	c = &Conn{conn.(*net.UnixConn), patience, make(chan struct{}, 1), make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	_, lock, err = receive(c.conn)
	if stop(); err != nil {
		_ = conn.Close()
		return nil, nil, fmt.Errorf("connect to the keeper: %w", err)
	}
	go c.watch()
	return c, lock, nil
}

// watch receives the keeper's answers until the connection ends.
func (c *Conn) watch() {
	defer close(c.gone)
	for {
		if _, _, err := receive(c.conn); err != nil {
			return
		}
		c.done <- struct{}{}
	}
}

// Gone is closed at the end of the keeper, or of the connection.
func (c *Conn) Gone() <-chan struct{} { return c.gone }

// Keep gives the lock to the keeper, and leaves it open here. The keeper closes its former lock. Keep returns when the
// keeper has the lock.
func (c *Conn) Keep(lock *os.File) error { return c.tell(keep, lock) }

// Drop makes the keeper close the lock.
func (c *Conn) Drop() error { return c.tell(drop, nil) }

// Close ends the connection. The keeper keeps its lock.
func (c *Conn) Close() {
	_ = c.conn.Close()
	<-c.gone
}

func (c *Conn) tell(message byte, lock *os.File) error {
	frozen := time.AfterFunc(c.patience, func() { _ = c.conn.Close() })
	defer frozen.Stop()
	if err := send(c.conn, message, lock); err != nil {
		return fmt.Errorf("tell the keeper: %w", err)
	}
	select {
	case <-c.done:
		return nil
	case <-c.gone:
		return errors.New("tell the keeper: it has ended, or does not answer")
	}
}
