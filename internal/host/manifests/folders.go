// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

// awayName is the folder of what is away, in the kubelet's: a rename into it stays within one
// mount, and a kubelet reads no folder in its own.
const awayName = ".slipway"

// folders are the kubelet's and ours.
type folders struct {
	watched, away string
	nodeName      string
	disk          disk
}

func foldersIn(dir, nodeName string) folders {
	return folders{watched: dir, away: filepath.Join(dir, awayName), nodeName: nodeName}
}

// read takes in what is there.
func (f folders) read() (facts staticpod.Facts, err error) {
	if facts.Watched, err = list(f.watched, f.nodeName); err != nil {
		return facts, err
	}
	facts.Away, err = list(f.away, f.nodeName)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return facts, err
	}
	facts.Journal, facts.Torn = f.readJournal()
	return facts, nil
}

func (f folders) readJournal() (journal staticpod.Journal, torn bool) {
	content, err := os.ReadFile(f.journal())
	if err == nil {
		journal, err = decode(content)
	}
	return journal, err != nil
}

func (f folders) journal() string { return filepath.Join(f.away, journalName) }

func (f folders) writeJournal(j staticpod.Journal) error {
	text, err := encode(j)
	if err != nil {
		return err
	}
	if err := f.disk.folder(f.away); err != nil {
		return err
	}
	return f.disk.replace(f.journal(), text)
}

func (f folders) take(file string) error { return f.disk.move(file, f.watched, f.away) }

func (f folders) putBack(file string) error { return f.disk.move(file, f.away, f.watched) }
