// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/health"
)

// again is when something is tried again that failed.
const again = 5 * time.Second

// Options are the settings of who moves manifests.
type Options struct {
	// NodeName is the machine's node. Required.
	NodeName string
	// Dir is the folder that the node's kubelet reads static pods from (staticPodPath). Empty:
	// nothing is moved, and the Node says so.
	Dir string
	// ControlPlane: manifests of the control plane may be taken away, too.
	ControlPlane bool
}

// Check says what is wrong with the settings.
func (o Options) Check() error {
	if o.Dir == "" {
		if o.ControlPlane {
			return fmt.Errorf("--control-plane-static-pods needs --static-pods")
		}
		return nil
	}
	info, err := os.Stat(o.Dir)
	if err != nil {
		return fmt.Errorf("read the kubelet's folder (--static-pods): %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("--static-pods: %s is not a folder", o.Dir)
	}
	return nil
}

// Mover moves the manifests of a machine.
type Mover struct {
	options Options
	folders folders
	cached  client.Reader
	node    *nodestate.Writer
	clock   clock.WithTicker
	well    *health.Process

	asked  chan struct{}     // somebody wants a pass
	failed map[string]string // see staticpod.Facts
	logged map[string]string // what was said of failures last
}

// New returns a mover that reads the Node from a cache, and whose passes are a part of how well the
// process is.
func New(options Options, cached client.Reader, node *nodestate.Writer, well *health.Process, clock clock.WithTicker) *Mover {
	return &Mover{
		options: options, folders: foldersIn(options.Dir, options.NodeName), cached: cached, node: node, clock: clock, well: well,
		asked: make(chan struct{}, 1), failed: map[string]string{}, logged: map[string]string{},
	}
}

// Look asks for a pass: the Node may have changed.
func (m *Mover) Look() {
	select {
	case m.asked <- struct{}{}:
	default: // one is asked for already
	}
}

// Start makes a pass whenever something has changed, until ctx ends. It fails for nothing: the same
// process holds the machine's shutdowns.
func (m *Mover) Start(ctx context.Context) error {
	if m.options.Dir == "" {
		m.loop(ctx, untold, false)
		return nil
	}
	if err := m.folders.disk.folder(m.folders.away); err != nil {
		log.FromContext(ctx).Error(err, "No manifest can be taken away")
	}
	files, err := m.watch()
	if err == nil {
		defer func() { _ = files.Close() }() // nothing of it is needed any more
	} else { // the machine may have no inotify left
		log.FromContext(ctx).Error(err, "Manifests are not watched until this process is started again; looking at them again and again", "every", again.String())
		files = untold
	}
	m.loop(ctx, files, err != nil)
	return nil
}

// untold tells nothing of any file.
var untold = &fsnotify.Watcher{}

func (m *Mover) watch() (*fsnotify.Watcher, error) {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	if err := files.Add(m.options.Dir); err != nil {
		return nil, errors.Join(fmt.Errorf("watch folder %s: %w", m.options.Dir, err), files.Close())
	}
	if err := files.Add(m.folders.away); err != nil && !os.IsNotExist(err) {
		return nil, errors.Join(fmt.Errorf("watch folder %s: %w", m.folders.away, err), files.Close())
	}
	return files, nil
}

// loop makes the passes. Where nothing is told of the files, blind, it looks by itself.
func (m *Mover) loop(ctx context.Context, files *fsnotify.Watcher, blind bool) {
	timer := m.clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.asked:
		case event := <-files.Events:
			if isOurs(event.Name) {
				continue // of a journal that could not be written, too: it would be tried without end
			}
		case err := <-files.Errors: // some changes may not have been told
			log.FromContext(ctx).Error(err, "Looking again")
		case <-timer.C():
			clear(m.failed)
		}
		if m.passes(ctx) || blind {
			timer.Reset(again)
		}
	}
}

// passes does what there is to do, and says whether it is to be tried again later.
func (m *Mover) passes(ctx context.Context) (retry bool) {
	defer m.well.Pass("static pods")()
	pass := m.pass
	if m.options.Dir == "" {
		pass = m.fallSilent
	}
	for more := true; more; {
		var err error
		if more, err = pass(ctx); err != nil {
			if ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "It is tried again")
			}
			return true
		}
	}
	return len(m.failed) > 0
}
