// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/klog/v2"
)

// watch is what Run keeps. It belongs to Run's goroutine.
type watch struct {
	registry  *Registry
	logger    klog.Logger
	followers map[string]*follower
	notify    *fsnotify.Watcher // nil: none could be had, the ticker has to do
	unwatched error             // of the last scan: directories that could not be watched
	complaint string
}

func (w *watch) open() {
	var err error
	if w.notify, err = w.registry.newWatcher(); err != nil {
		w.logger.Error(err, "No file notifications; drivers are noticed later", "every", w.registry.rescan.String())
	}
}

func (w *watch) close() {
	if w.notify != nil {
		_ = w.notify.Close() // there is nothing to be done for what cannot be closed
	}
	for path := range w.followers {
		w.followers[path].cancel()
	}
	for path := range w.followers {
		w.drop(path)
	}
}

// sleep returns when it is time to look again, and false when ctx has ended.
func (w *watch) sleep(ctx context.Context, tick <-chan time.Time) bool {
	var events <-chan fsnotify.Event
	var errs <-chan error
	if w.notify != nil {
		events, errs = w.notify.Events, w.notify.Errors
	}
	select {
	case <-ctx.Done():
		return false
	case <-tick:
	case <-events:
	case err := <-errs: // events were lost, most likely: look what there is
		w.logger.V(1).Info("File notifications failed; the directory is read again", "reason", fmt.Sprint(err))
	}
	return ctx.Err() == nil
}

// rescan makes one follower of each socket that is there.
func (w *watch) rescan(ctx context.Context) {
	found, err := w.scan()
	w.complain(errors.Join(err, w.unwatched))
	if err != nil {
		return // what cannot be read has not gone
	}
	for path, f := range w.followers {
		if found[path] != f.socket {
			w.drop(path)
		}
	}
	for path, socket := range found {
		if _, ok := w.followers[path]; !ok {
			w.followers[path] = w.registry.startFollower(ctx, socket)
		}
	}
}

func (w *watch) scan() (map[string]socketFile, error) {
	// It may have been deleted. Nothing tells of that while a driver lives whose socket
	// was in it, so that it is found at the next tick.
	if err := os.MkdirAll(w.registry.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make registration directory: %w", err)
	}
	w.unwatched = nil
	return scan(w.registry.dir, func(dir string) {
		if w.notify != nil {
			w.unwatched = errors.Join(w.unwatched, w.notify.Add(dir))
		}
	})
}

func (w *watch) drop(path string) {
	w.followers[path].cancel()
	<-w.followers[path].done
	delete(w.followers, path)
}

// complain logs an error when it is another one than before.
func (w *watch) complain(err error) {
	if err == nil {
		w.complaint = ""
		return
	}
	if err.Error() != w.complaint {
		w.complaint = err.Error()
		w.logger.Error(err, "Trouble with the registration directory; trying again", "every", w.registry.rescan.String())
	}
}
