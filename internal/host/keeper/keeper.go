// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
)

// network keeps messages apart, so that a file belongs to one.
const network = "unixpacket"

// The messages. A file comes with keep, and with held.
const (
	keep = 'k' // to the keeper
	drop = 'd'
	held = 'h' // from the keeper, once a connection
	none = 'n'
	done = 'a' // from the keeper, to each of the others
)

// keeper has the lock.
type keeper struct {
	mu   sync.Mutex
	lock *os.File // nil: none
}

// Serve keeps locks for who connects to the socket at path, until ctx ends. A socket that
// somebody has left there is replaced.
func Serve(ctx context.Context, path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("keep locks: %w", err)
	}
	listener, err := net.ListenUnix(network, &net.UnixAddr{Name: path, Net: network})
	if err != nil {
		return fmt.Errorf("keep locks: %w", err)
	}
	ctx, hangUp := context.WithCancel(ctx)
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	k := &keeper{}
	defer k.set(nil)
	var serving sync.WaitGroup
	defer serving.Wait()
	defer hangUp() // also when nobody can be accepted any more: this ends then, and is started again
	for {
		conn, err := listener.AcceptUnix()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("keep locks: %w", err)
		}
		serving.Go(func() { k.serve(ctx, conn) })
	}
}

// serve hands out what there is, and takes what comes, until the other side has gone.
func (k *keeper) serve(ctx context.Context, conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if k.greet(conn) != nil {
		return
	}
	for {
		message, file, err := receive(conn)
		switch {
		case err != nil: // it has gone: what it gave stays
			return
		case message == keep && file != nil:
			k.set(file)
		case message == drop:
			k.set(nil)
		}
		if send(conn, done, nil) != nil {
			return
		}
	}
}

func (k *keeper) greet(conn *net.UnixConn) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lock == nil {
		return send(conn, none, nil)
	}
	return send(conn, held, k.lock)
}

// set replaces the lock, and closes the one before.
func (k *keeper) set(lock *os.File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lock != nil {
		_ = k.lock.Close() // nothing was written
	}
	k.lock = lock
}
