// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/node/staticpod"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// isOurs says whether a file is the journal, or becomes it.
func isOurs(path string) bool {
	return filepath.Base(filepath.Dir(path)) == awayName && strings.HasPrefix(filepath.Base(path), journalName)
}

// pass does one step, if there is one, and says whether there may be more. What could not be
// done on the disk is no error: the Node says it.
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
	node, err := m.readNode(ctx)
	if node == nil {
		return facts, err
	}
	wishes, err := staticpod.WishesOn(node)
	if err != nil {
		log.FromContext(ctx).Error(err, "What is away stays so, and what is not stays, too")
		return facts, nil
	}
	facts.Asked, facts.Wanted, facts.Said = true, staticpod.Wanted(wishes), node.Annotations[staticpod.HostAnnotation]
	return facts, nil
}

// readNode returns nil where there is no such Node.
func (m *Mover) readNode(ctx context.Context) (*corev1.Node, error) {
	var node corev1.Node
	switch err := m.cached.Get(ctx, client.ObjectKey{Name: m.options.NodeName}, &node); {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // as documented
	case err != nil:
		return nil, fmt.Errorf("read node %s: %w", m.options.NodeName, err)
	}
	return &node, nil
}

// perform does a step on the disk, and notes what could not be done.
func (m *Mover) perform(ctx context.Context, step staticpod.Step) error {
	logger := log.FromContext(ctx)
	switch s := step.(type) {
	case staticpod.Record:
		if m.note(ctx, staticpod.JournalFile, m.folders.writeJournal(s.Journal)) {
			faultpoint.Reach(faultpoint.StaticPodsNoted)
		}
	case staticpod.Take:
		if m.note(ctx, s.File, m.folders.take(s.File)) {
			logger.Info("Took a manifest away", "file", s.File, "pod", s.Pod)
			faultpoint.Reach(faultpoint.StaticPodTaken)
		}
	case staticpod.PutBack:
		if m.note(ctx, s.File, m.folders.putBack(s.File)) {
			logger.Info("Put a manifest back", "file", s.File, "pod", s.Pod, "changedMeanwhile", s.Changed)
			faultpoint.Reach(faultpoint.StaticPodPutBack)
		}
	default:
		return fmt.Errorf("no way to perform a %T", step)
	}
	return nil
}

// note keeps that something has failed, which is logged once, and says whether it was done.
func (m *Mover) note(ctx context.Context, file string, err error) (done bool) {
	if err == nil {
		delete(m.logged, file)
		return true
	}
	m.failed[file] = err.Error()
	if m.logged[file] != m.failed[file] {
		log.FromContext(ctx).Error(err, "It is tried again, and the Node says so")
	}
	m.logged[file] = m.failed[file]
	return false
}

// fallSilent has the Node say no more that static pods are taken away here.
func (m *Mover) fallSilent(ctx context.Context) (more bool, err error) {
	node, err := m.readNode(ctx)
	if node == nil || node.Annotations[staticpod.HostAnnotation] == "" {
		return false, err
	}
	return false, m.node.ReportStaticPods(ctx, "")
}
