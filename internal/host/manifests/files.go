// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

const (
	// awayName is the second folder, in the kubelet's folder: a rename into it stays within one mount, and a kubelet
	// ignores folders.
	awayName = ".slipway"
	// journalName is the journal in that folder.
	journalName = ".journal"
	// version of the journal. Another version is unreadable.
	version = 1
	// maxManifest is the maximum length of a manifest for a kubelet.
	maxManifest = 10 << 20
)

var (
	errTorn  = errors.New("the journal is incomplete, or not Slipway's")
	errNoPod = errors.New("it is not the manifest of a pod")
)

// folders are the kubelet's folder and the second one.
type folders struct {
	watched, away string
	nodeName      string
	disk          disk
}

func foldersIn(dir, nodeName string) folders {
	return folders{watched: dir, away: filepath.Join(dir, awayName), nodeName: nodeName}
}

// read returns the facts about both folders.
func (f folders) read() (facts staticpod.Facts, err error) {
	if facts.Watched, err = list(f.watched, f.nodeName); err != nil {
		return facts, err
	}
	if facts.Away, err = list(f.away, f.nodeName); err != nil && !errors.Is(err, os.ErrNotExist) {
		return facts, err
	}
	content, err := os.ReadFile(f.journal())
	if err == nil {
		facts.Journal, err = decode(content)
	}
	facts.Torn = err != nil
	return facts, nil
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

// isOurs reports whether a file is the journal, or a journal that is being written.
func isOurs(path string) bool {
	return filepath.Base(filepath.Dir(path)) == awayName && strings.HasPrefix(filepath.Base(path), journalName)
}

// onDisk is the journal in the file, after a line with its sum.
type onDisk struct {
	Version int `json:"version"`
	staticpod.Journal
}

func encode(j staticpod.Journal) ([]byte, error) {
	text, err := json.Marshal(onDisk{version, j})
	if err != nil {
		return nil, fmt.Errorf("encode the journal: %w", err)
	}
	return fmt.Appendf(nil, "%x\n%s\n", sha256.Sum256(text), text), nil
}

// decode reads a journal of encode. A journal that lacks one byte is unreadable.
func decode(content []byte) (staticpod.Journal, error) {
	sum, text, found := bytes.Cut(content, []byte("\n"))
	text, ended := bytes.CutSuffix(text, []byte("\n"))
	if !found || !ended || string(sum) != fmt.Sprintf("%x", sha256.Sum256(text)) {
		return staticpod.Journal{}, errTorn
	}
	var j onDisk
	if err := json.Unmarshal(text, &j); err != nil || j.Version != version {
		return staticpod.Journal{}, errTorn
	}
	return j.Journal, nil
}

// list reads the files of a folder that a kubelet would read, by name.
func list(folder, nodeName string) ([]staticpod.Manifest, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, fmt.Errorf("read folder %s: %w", folder, cause(err))
	}
	var all []staticpod.Manifest
	for _, e := range entries {
		path := filepath.Join(folder, e.Name())
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		// The target of a link counts, and a broken link is a file as well.
		if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
			continue
		}
		all = append(all, manifestOf(path, nodeName))
	}
	return all, nil
}

// manifestOf reads one file.
func manifestOf(path, nodeName string) staticpod.Manifest {
	m := staticpod.Manifest{File: filepath.Base(path)}
	content, err := readAtMost(path, maxManifest)
	if err == nil {
		m.Sum = fmt.Sprintf("%x", sha256.Sum256(content))
		m.Pod, m.ControlPlane, err = podOf(content, nodeName)
	}
	if err != nil {
		m.Trouble = cause(err).Error()
	}
	return m
}

func readAtMost(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = fmt.Errorf("it is longer than %d bytes", limit)
	}
	return content, errors.Join(err, file.Close())
}

// podOf returns the mirror pod that a node's kubelet makes of a manifest, and whether it is part of the control plane.
func podOf(content []byte, nodeName string) (key string, controlPlane bool, err error) {
	text, err := yaml.ToJSON(content)
	if err != nil {
		return "", false, errNoPod
	}
	var pod metav1.PartialObjectMetadata
	if err := json.Unmarshal(text, &pod); err != nil || pod.Kind != "Pod" || pod.APIVersion != "v1" || pod.Name == "" {
		return "", false, errNoPod
	}
	if pod.Namespace == "" {
		pod.Namespace = metav1.NamespaceDefault
	}
	return fmt.Sprintf("%s/%s-%s", pod.Namespace, pod.Name, strings.ToLower(nodeName)), staticpod.IsControlPlane(pod.Name, pod.Labels), nil
}
