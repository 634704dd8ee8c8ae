// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sync/errgroup"
	"k8s.io/klog/v2"
)

// rescanEvery is the interval of the scans without a notification.
const rescanEvery = 10 * time.Second

// watch follows one registration directory. Only its goroutine uses it.
type watch struct {
	*Registry

	dir       string
	logger    klog.Logger
	followers map[string]*follower
	notify    *fsnotify.Watcher // nil: without notifications, the ticker finds the changes
	complaint string            // the error of the last scan
}

// Run follows the registration directories until ctx ends. It fails only if it cannot
// create one; it logs later errors, and tries again. When it returns, no other process
// is registered, and everything that it started has ended. Call it once.
func (r *Registry) Run(ctx context.Context) error {
	r.mu.Lock()
	r.since, r.logger = r.clock.Now(), klog.FromContext(ctx)
	r.mu.Unlock()
	watches, ctx := errgroup.WithContext(ctx)
	for _, dir := range r.dirs {
		w := &watch{Registry: r, dir: filepath.Clean(dir), logger: klog.FromContext(ctx), followers: map[string]*follower{}}
		watches.Go(func() error { return w.run(ctx) })
	}
	watches.Go(func() error { // without directories, the drivers in this process are served as long
		<-ctx.Done()
		return nil
	})
	err := watches.Wait()
	r.disconnectAll()
	r.checks.Wait()
	return err
}

func (w *watch) run(ctx context.Context) error {
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return fmt.Errorf("make registration directory: %w", err)
	}
	var err error
	if w.notify, err = w.newWatcher(); err != nil {
		w.logger.Error(err, "No file notifications: drivers are found later", "every", w.rescan.String())
	} else {
		defer func() { _ = w.notify.Close() }() // the process can do nothing about an error
	}
	ticker := w.clock.NewTicker(w.rescan)
	defer ticker.Stop()
	for w.update(ctx); w.await(ctx, ticker.C()); {
		w.update(ctx)
	}
	for _, f := range w.followers {
		f.stop()
	}
	return nil
}

// await returns true when it is time for a scan, and false when ctx has ended.
func (w *watch) await(ctx context.Context, tick <-chan time.Time) bool {
	var events <-chan fsnotify.Event
	var errs <-chan error
	if w.notify != nil {
		events, errs = w.notify.Events, w.notify.Errors
	}
	select {
	case <-ctx.Done():
	case <-tick:
	case <-events:
	case err := <-errs: // some events are probably lost
		w.logger.V(1).Info("File notifications failed; scanning the directory", "reason", fmt.Sprint(err))
	}
	return ctx.Err() == nil
}

// update starts a follower for each new socket, and stops those of removed sockets.
func (w *watch) update(ctx context.Context) {
	found, unwatched, err := w.scan()
	w.complain(errors.Join(err, unwatched))
	if err != nil {
		return // the sockets may still exist
	}
	for path, f := range w.followers {
		if found[path] != f.socket {
			f.stop()
			delete(w.followers, path)
		}
	}
	for path, socket := range found {
		if _, ok := w.followers[path]; !ok {
			w.followers[path] = w.startFollower(ctx, socket)
		}
	}
}

// scan finds the sockets. unwatched are directories without notifications.
func (w *watch) scan() (found map[string]socketFile, unwatched, err error) {
	// If the directory was deleted, there may be no notification of that while the driver
	// of a socket lives: the next tick finds it.
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make registration directory: %w", err)
	}
	found, err = scan(w.dir, func(dir string) {
		if w.notify != nil {
			unwatched = errors.Join(unwatched, w.notify.Add(dir))
		}
	})
	return found, unwatched, err
}

// complain logs an error once, until it changes.
func (w *watch) complain(err error) {
	complaint := ""
	if err != nil {
		complaint = err.Error()
	}
	if complaint != "" && complaint != w.complaint {
		w.logger.Error(err, "Trouble with the registration directory; trying again", "every", w.rescan.String())
	}
	w.complaint = complaint
}

// socketFile identifies a socket. Another socket at the same path has another inode, or
// another time if the inode is used again.
type socketFile struct {
	path string
	// folder is the folder of one driver, below the registration directory; empty: the directory itself.
	folder        string
	device, inode uint64
	modified      time.Time
}

// scan returns the sockets in the directory and in its subdirectories, one level deep,
// except hidden ones. It calls visit for each directory before it reads it, so a watch
// that visit adds misses no socket that the scan misses.
func scan(dir string, visit func(dir string)) (map[string]socketFile, error) {
	found := map[string]socketFile{}
	subdirs, err := scanOne(dir, "", visit, found)
	if err != nil {
		return nil, err
	}
	for _, subdir := range subdirs {
		if _, err := scanOne(subdir, filepath.Base(subdir), visit, found); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return found, nil
}

func scanOne(dir, folder string, visit func(dir string), found map[string]socketFile) (subdirs []string, err error) {
	visit(dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read registration directory: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch {
		case strings.HasPrefix(entry.Name(), "."):
		case entry.IsDir():
			subdirs = append(subdirs, path)
		case entry.Type()&fs.ModeSocket != 0:
			info, err := entry.Info()
			if err != nil {
				continue // the file was removed
			}
			socket := socketFile{path: path, folder: folder, modified: info.ModTime()}
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				socket.device, socket.inode = uint64(stat.Dev), stat.Ino //nolint:unconvert // int32 on some platforms
			}
			found[path] = socket
		}
	}
	return subdirs, nil
}
