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
	"time"

	"golang.org/x/sys/unix"
)

// network separates messages, so that a file belongs to one.
const network = "unixpacket"

// The messages. The messages keep and held carry a file.
const (
	keep = 'k' // to the keeper
	drop = 'd'
	held = 'h' // from the keeper, once for each connection
	none = 'n'
	done = 'a' // from the keeper, after keep and drop
)

// keeper has the lock.
type keeper struct {
	mu   sync.Mutex
	lock *os.File // may be nil
}

// Serve keeps the locks of clients at the socket at path, until ctx ends. It replaces an old socket.
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
	defer hangUp() // also after an error of accept: then the process is restarted
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

// serve sends the lock, and receives messages until the client has ended.
func (k *keeper) serve(ctx context.Context, conn *net.UnixConn) {
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if k.greet(conn) != nil {
		return
	}
	for {
		message, file, err := receive(conn)
		switch {
		case err != nil: // the client has ended: the lock stays
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

// set replaces the lock, and closes the former one.
func (k *keeper) set(lock *os.File) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lock != nil {
		_ = k.lock.Close() // the file has no unwritten content
	}
	k.lock = lock
}

// send sends a message of one letter, with a file unless it is nil.
func send(conn *net.UnixConn, message byte, file *os.File) error {
	var rights []byte
	if file != nil {
		rights = unix.UnixRights(int(file.Fd()))
	}
	_, _, err := conn.WriteMsgUnix([]byte{message}, rights, nil)
	return err
}

// receive waits for a message. The caller owns its file.
func receive(conn *net.UnixConn) (message byte, file *os.File, err error) {
	letter, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, control, _, _, err := conn.ReadMsgUnix(letter, rights)
	if err != nil {
		return 0, nil, err
	}
	if n == 0 {
		return 0, nil, net.ErrClosed
	}
	if control == 0 {
		return letter[0], nil, nil
	}
	if file, err = fileIn(rights[:control]); err != nil {
		err = fmt.Errorf("read the file of the message: %w", err)
	}
	return letter[0], file, err
}

func fileIn(rights []byte) (*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	if len(messages) != 1 {
		return nil, fmt.Errorf("%d control messages, not one", len(messages))
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
	}
	if len(descriptors) != 1 {
		for _, d := range descriptors {
			_ = unix.Close(d) // no other code owns it
		}
		return nil, fmt.Errorf("%d files, not one", len(descriptors))
	}
	return os.NewFile(uintptr(descriptors[0]), "lock"), nil
}

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
