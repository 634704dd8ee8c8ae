// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// world is a machine's two folders and its journal, and its Node. A file's content is the pod
// of which it is the manifest, and whatever else: "kube-system/proxy-w1 version 2". One whose
// content has no "/" is no manifest; "control-plane" in it says that it is of that.
type world struct {
	node          *corev1.Node // nil: nobody can ask the API server
	wishes        []Wish
	watched, away map[string]string
	journal       string // as it is on the disk
	controlPlane  bool
	full          bool // nothing can be written to the disk
	failed        map[string]string
	said          string
}

func newWorld() *world {
	return &world{node: &corev1.Node{}, watched: map[string]string{}, away: map[string]string{}, failed: map[string]string{}}
}

func (w *world) facts() Facts {
	f := Facts{
		ControlPlane: w.controlPlane, Failed: w.failed, Said: w.said,
		Watched: manifests(w.watched), Away: manifests(w.away),
	}
	f.Torn = json.Unmarshal([]byte(w.journal), &f.Journal) != nil
	if w.node != nil {
		f.Asked, f.Wanted = true, Wanted(w.wishes)
	}
	return f
}

func manifests(files map[string]string) (all []Manifest) {
	for _, file := range slices.Sorted(maps.Keys(files)) {
		content := files[file]
		m := Manifest{File: file, Sum: content, ControlPlane: strings.Contains(content, "control-plane")}
		if pod, _, _ := strings.Cut(content, " "); strings.Contains(pod, "/") {
			m.Pod = pod
		} else {
			m.Trouble = "it is not a manifest of a pod"
		}
		all = append(all, m)
	}
	return all
}

// apply does a step, as [internal/host/manifests] would, and says so.
func (w *world) apply(step Step) string {
	switch s := step.(type) {
	case Record:
		if w.full {
			w.failed[JournalFile] = "no space left on device"
			return "journal: no space left on device"
		}
		text, err := json.Marshal(s.Journal)
		if err != nil {
			panic(err)
		}
		w.journal = string(text)
		return "journal: " + w.journal
	case Take:
		move(w.watched, w.away, s.File)
		return "take " + s.File
	case PutBack:
		move(w.away, w.watched, s.File)
		if s.Changed {
			return "put back " + s.File + ", which has changed"
		}
		return "put back " + s.File
	case Publish:
		text, err := s.Report.Text()
		if err != nil {
			panic(err)
		}
		w.said = text
		return "say " + text
	default:
		panic(fmt.Sprintf("%T", step))
	}
}

// move is a rename that replaces nothing.
func move(from, to map[string]string, file string) {
	if _, there := to[file]; there {
		panic("onto another: " + file)
	}
	to[file] = from[file]
	delete(from, file)
}

func (w *world) wish(event string, pods ...string) {
	w.wishes = With(w.wishes, Wish{Event: event, UID: types.UID(event), Pods: pods})
}

func (w *world) withdraw(event string) { w.wishes = Without(w.wishes, types.UID(event)) }

// expect is what a drain expects of a pod.
func (w *world) expect(key, component string) Expectation {
	pod := &corev1.Pod{}
	pod.Namespace, pod.Name, _ = strings.Cut(key, "/")
	if component != "" {
		pod.Labels = map[string]string{"component": component}
	}
	node := &corev1.Node{}
	metav1.SetMetaDataAnnotation(&node.ObjectMeta, HostAnnotation, w.said)
	return Expect(node, pod)
}
