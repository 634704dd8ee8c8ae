// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/fsnotify/fsnotify"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/internal/platform/health"
)

// again is the delay of another attempt after a failure.
const again = 5 * time.Second

// Options of a [Mover].
type Options struct {
	// NodeName is the machine's node. Required.
	NodeName string
	// Dir is the folder from which the node's kubelet reads static pods (staticPodPath). If it is empty, the mover only
	// removes its report from the Node.
	Dir string
	// ControlPlane allows to move manifests of the control plane.
	ControlPlane bool
}

// Check returns the error in the settings.
func (o Options) Check() error {
	if o.Dir == "" {
		if o.ControlPlane {
			return errors.New("--control-plane-static-pods needs --static-pods")
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
	read    func() (*corev1.Node, error)
	node    *nodestate.Writer
	clock   clock.WithTicker
	well    *health.Process

	wanted chan struct{}     // receives when a pass is wanted
	failed map[string]string // see staticpod.Facts
	logged map[string]string // the last logged failures
}

// New returns a mover whose passes are part of the health of the process. read returns the Node; nil if it does not
// exist.
func New(options Options, read func() (*corev1.Node, error), node *nodestate.Writer, well *health.Process, clock clock.WithTicker) *Mover {
	return &Mover{
		options: options, folders: foldersIn(options.Dir, options.NodeName), read: read, node: node, clock: clock, well: well,
		wanted: make(chan struct{}, 1), failed: map[string]string{}, logged: map[string]string{},
	}
}

// Look requests a pass: the Node may have changed.
func (m *Mover) Look() {
	select {
	case m.wanted <- struct{}{}:
	default: // a pass is requested already
	}
}

// Start makes a pass after each change, until ctx ends. It never fails: the same process delays the machine's
// shutdowns.
func (m *Mover) Start(ctx context.Context) error {
	if m.options.Dir == "" {
		m.loop(ctx, unwatched, false)
		return nil
	}
	if err := m.folders.disk.folder(m.folders.away); err != nil {
		log.FromContext(ctx).Error(err, "Cannot move manifests away")
	}
	files, err := m.watch()
	if err == nil {
		defer func() { _ = files.Close() }() // its errors are irrelevant at the end
	} else { // the machine may have used up inotify
		log.FromContext(ctx).Error(err, "Cannot watch manifests until the restart of this process; reading them regularly", "every", again.String())
		files = unwatched
	}
	m.loop(ctx, files, err != nil)
	return nil
}

// unwatched sends no events.
var unwatched = &fsnotify.Watcher{}

func (m *Mover) watch() (*fsnotify.Watcher, error) {
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, fmt.Errorf("watch files: %w", err)
	}
	for _, dir := range []string{m.options.Dir, m.folders.away} {
		if err := files.Add(dir); err != nil && (dir == m.options.Dir || !os.IsNotExist(err)) {
			return nil, errors.Join(fmt.Errorf("watch folder %s: %w", dir, err), files.Close())
		}
	}
	return files, nil
}

// loop makes the passes; blind means that it must look regularly, because it has no watch.
func (m *Mover) loop(ctx context.Context, files *fsnotify.Watcher, blind bool) {
	timer := m.clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.wanted:
		case event := <-files.Events:
			if isOurs(event.Name) {
				continue // a failed write of the journal would wake the next one, without end
			}
		case err := <-files.Errors: // the watch may have missed changes
			log.FromContext(ctx).Error(err, "Looking again")
		case <-timer.C():
			clear(m.failed)
		}
		if m.passes(ctx) || blind {
			timer.Reset(again)
		}
	}
}

// passes performs all steps, and reports whether another attempt must follow.
func (m *Mover) passes(ctx context.Context) (retry bool) {
	defer m.well.Pass("static pods")()
	pass := m.pass
	if m.options.Dir == "" {
		pass = m.removeReport
	}
	for more := true; more; {
		var err error
		if more, err = pass(ctx); err != nil {
			if ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "Trying again")
			}
			return true
		}
	}
	return len(m.failed) > 0
}

// removeReport removes the report of a former process from the Node.
func (m *Mover) removeReport(ctx context.Context) (more bool, err error) {
	node, err := m.readNode()
	if node == nil || node.Annotations[staticpod.HostAnnotation] == "" {
		return false, err
	}
	return false, m.node.ReportStaticPods(ctx, "")
}

// pass performs at most one step, and reports whether more may follow. A failed move is no error: the Node reports it.
func (m *Mover) pass(ctx context.Context) (more bool, err error) {
	facts, err := m.gather(ctx)
	if err != nil {
		return false, err
	}
	switch step := staticpod.Next(facts).(type) {
	case nil:
		return false, nil
	case staticpod.Publish:
		text, err := step.Report.Text()
		if err != nil {
			return false, err
		}
		return false, m.node.ReportStaticPods(ctx, text) // the watch of the Node shows it
	default:
		return true, m.perform(ctx, step)
	}
}

func (m *Mover) gather(ctx context.Context) (staticpod.Facts, error) {
	facts, err := m.folders.read()
	if err != nil {
		return facts, err
	}
	facts.ControlPlane, facts.Failed = m.options.ControlPlane, m.failed
	node, err := m.readNode()
	if node == nil {
		return facts, err
	}
	wishes, err := staticpod.WishesOn(node)
	if err != nil {
		log.FromContext(ctx).Error(err, "All manifests stay in their folders")
		return facts, nil
	}
	facts.Asked, facts.Wanted, facts.Said = true, staticpod.Wanted(wishes), node.Annotations[staticpod.HostAnnotation]
	return facts, nil
}

func (m *Mover) readNode() (*corev1.Node, error) {
	node, err := m.read()
	if err != nil {
		return nil, fmt.Errorf("read node %s: %w", m.options.NodeName, err)
	}
	return node, nil
}

// perform performs a step on disk, and records its failure.
func (m *Mover) perform(ctx context.Context, step staticpod.Step) error {
	logger := log.FromContext(ctx)
	switch s := step.(type) {
	case staticpod.Record:
		if m.done(ctx, staticpod.JournalFile, m.folders.writeJournal(s.Journal)) {
			faultpoint.Reach(faultpoint.StaticPodsNoted)
		}
	case staticpod.Take:
		if m.done(ctx, s.File, m.folders.take(s.File)) {
			logger.Info("Moved a manifest away", "file", s.File, "pod", s.Pod)
			faultpoint.Reach(faultpoint.StaticPodTaken)
		}
	case staticpod.PutBack:
		if m.done(ctx, s.File, m.folders.putBack(s.File)) {
			logger.Info("Moved a manifest back", "file", s.File, "pod", s.Pod, "changedMeanwhile", s.Changed)
			faultpoint.Reach(faultpoint.StaticPodPutBack)
		}
	default:
		return fmt.Errorf("no way to perform a %T", step)
	}
	return nil
}

// done records a failure and logs it once, and reports whether the step succeeded.
func (m *Mover) done(ctx context.Context, file string, err error) bool {
	if err == nil {
		delete(m.logged, file)
		return true
	}
	m.failed[file] = err.Error()
	if m.logged[file] != m.failed[file] {
		log.FromContext(ctx).Error(err, "Trying again; the Node reports the failure")
	}
	m.logged[file] = m.failed[file]
	return false
}
