// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"

	"k8s.io/klog/v2"
)

// socket is a listening unix socket and its file.
type socket struct {
	net.Listener
	path string
	file fs.FileInfo
}

// listen creates the socket with mode 0600 under a name that watchers ignore, and then
// renames it: it appears with its mode, and replaces the socket of a dead process.
func listen(ctx context.Context, path string) (*socket, error) {
	if err := refuseLive(ctx, path); err != nil {
		return nil, err
	}
	draft := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := os.Remove(draft); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove stale socket: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", draft)
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	if l, ok := listener.(*net.UnixListener); ok {
		l.SetUnlinkOnClose(false)
	}
	s := &socket{Listener: listener, path: path}
	if s.file, err = publishSocket(draft, path); err != nil {
		return nil, errors.Join(err, listener.Close(), ignoreAbsent(os.Remove(draft)))
	}
	return s, nil
}

func publishSocket(draft, path string) (fs.FileInfo, error) {
	if err := os.Chmod(draft, 0o600); err != nil {
		return nil, fmt.Errorf("restrict socket: %w", err)
	}
	file, err := os.Lstat(draft)
	if err != nil {
		return nil, fmt.Errorf("inspect socket: %w", err)
	}
	if err := os.Rename(draft, path); err != nil {
		return nil, fmt.Errorf("put socket in place: %w", err)
	}
	return file, nil
}

// refuseLive fails if a process listens at path: it is another process of the same
// driver, which would silently lose its calls.
func refuseLive(ctx context.Context, path string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		return errors.Join(
			fmt.Errorf("socket %s is in use by another process: end it, or set a different Instance in each process", path),
			conn.Close())
	}
	// EAGAIN: the queue of the listener is full, so there is a listener.
	if errors.Is(err, syscall.EAGAIN) {
		return fmt.Errorf("socket %s is in use by another process that does not answer: end it", path)
	}
	return nil
}

// removeStale removes the sockets of killed instances that never restarted: the agent
// would try each of them forever. No process can listen again on a socket that refuses
// connections. A socket that cannot be removed causes no other harm, so the function only
// logs it.
func removeStale(ctx context.Context, paths socketPaths) {
	for _, pattern := range paths.ofInstances {
		dir := filepath.Dir(pattern)
		entries, _ := os.ReadDir(dir) // all readable entries
		for _, entry := range entries {
			path := filepath.Join(dir, entry.Name())
			if !isOf(pattern, entry) || !isStale(ctx, path) {
				continue
			}
			if err := ignoreAbsent(os.Remove(path)); err != nil {
				klog.FromContext(ctx).Info("A stale socket could not be removed", "path", path, "reason", err.Error())
			}
		}
	}
}

func isOf(pattern string, entry fs.DirEntry) bool {
	matches, err := filepath.Match(filepath.Base(pattern), entry.Name())
	return err == nil && matches && entry.Type()&fs.ModeSocket != 0
}

func isStale(ctx context.Context, path string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close() // the connection is unused
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// inPlace reports whether the file still exists and still belongs to this socket.
func (s *socket) inPlace() bool {
	file, err := os.Lstat(s.path)
	return err == nil && os.SameFile(file, s.file)
}

// unlink removes the file, unless another process has replaced it, or there is no socket. Call it
// before you close the listener: until then, the inode is not used again.
func (s *socket) unlink() error {
	if s == nil || !s.inPlace() {
		return nil
	}
	return ignoreAbsent(os.Remove(s.path))
}

func ignoreAbsent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
