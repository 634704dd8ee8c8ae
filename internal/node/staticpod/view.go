// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// view is what the facts come to.
type view struct {
	facts  Facts
	wanted []string
	// away are the files beside the kubelet's folder that are ours; of these, back are to be put
	// back. take are those in its folder that are to go.
	away, back, take []Manifest
	// byHand are files that were away, are to be, and that somebody has moved: if they are in the
	// kubelet's folder again, they are left there.
	byHand  []Entry
	trouble []Trouble
}

func look(f Facts) view {
	v := view{facts: f, wanted: f.Wanted}
	if !f.Asked {
		v.wanted = f.Journal.Wanted
	}
	for _, m := range f.Away {
		if _, noted := f.noted(m.File); noted || f.Torn {
			v.away = append(v.away, m)
		}
	}
	for _, m := range v.away {
		v.lookAway(m)
	}
	for _, e := range f.Journal.Away {
		if !f.Torn && e.State == Away && v.wants(e.Pod) && !has(f.Away, e.File) {
			v.byHand = append(v.byHand, e)
		}
	}
	for _, m := range f.Watched {
		v.lookWatched(m)
	}
	for _, pod := range v.wanted {
		v.lookFor(pod)
	}
	if why := f.Failed[JournalFile]; why != "" {
		v.tell("", fmt.Sprintf("the journal cannot be written, so nothing more is taken away: %s", why))
	}
	return v
}

// lookAway decides about a file that is away.
func (v *view) lookAway(m Manifest) {
	pod := v.podOf(m)
	if v.wants(pod) || pod == "" && len(v.wanted) > 0 {
		return
	}
	if other := v.inPlaceOf(m); other != "" {
		v.tell(cmp.Or(pod, m.File), fmt.Sprintf("%s stays away: another manifest, %s, was put into the kubelet's folder meanwhile; remove the one that is not wanted", m.File, other))
		return
	}
	v.back = append(v.back, m)
	v.failed(m.File, pod)
}

// inPlaceOf is the file in the kubelet's folder that has the name of one that is away, or is of
// the same pod.
func (v *view) inPlaceOf(m Manifest) string {
	pod := v.podOf(m)
	for _, w := range v.facts.Watched {
		if w.File == m.File || pod != "" && w.Pod == pod {
			return w.File
		}
	}
	return ""
}

// lookWatched decides about a file in the kubelet's folder.
func (v *view) lookWatched(m Manifest) {
	if !v.wants(m.Pod) {
		return
	}
	others := v.manifestsOf(m.Pod)
	switch {
	case slices.ContainsFunc(v.byHand, func(e Entry) bool { return e.File == m.File }):
		v.tell(m.Pod, m.File+" was away, and somebody has put it back: it is left there")
	case has(v.facts.Away, m.File), v.isAway(m.Pod):
		v.tell(m.Pod, m.File+" was put into the kubelet's folder while another manifest of that name, or of the pod, was away: it is left there")
	case len(others) > 1:
		v.tell(m.Pod, fmt.Sprintf("%s are manifests of the same pod: remove all but one", strings.Join(others, ", ")))
	case m.ControlPlane && !v.facts.ControlPlane:
		v.tell(m.Pod, m.File+" is of the control plane, which slipway-host leaves alone without --control-plane-static-pods")
	default:
		v.take = append(v.take, m)
		v.failed(m.File, m.Pod)
	}
}

// lookFor tells of a pod that nobody can take away.
func (v *view) lookFor(pod string) {
	if v.isAway(pod) || len(v.manifestsOf(pod)) > 0 {
		return
	}
	text := "no file in the kubelet's folder is its manifest"
	var unread []string
	for _, m := range v.facts.Watched {
		if m.Trouble != "" {
			unread = append(unread, fmt.Sprintf("%s (%s)", m.File, m.Trouble))
		}
	}
	if len(unread) > 0 {
		text += "; these are not known: " + strings.Join(unread[:min(len(unread), 3)], ", ")
	}
	v.tell(pod, text)
}

func (v *view) failed(file, pod string) {
	if why := v.facts.Failed[file]; why != "" {
		v.tell(cmp.Or(pod, file), why)
	}
}

func (v *view) tell(pod, message string) {
	if t := (Trouble{Pod: pod, Message: message}); !slices.Contains(v.trouble, t) {
		v.trouble = append(v.trouble, t)
	}
}

// podOf is the pod of a file that is away: what the journal says, if it does, because somebody
// may have changed the file.
func (v *view) podOf(m Manifest) string {
	if e, noted := v.facts.noted(m.File); noted {
		return e.Pod
	}
	return m.Pod
}

func (v *view) wants(pod string) bool { return pod != "" && slices.Contains(v.wanted, pod) }

func (v *view) isAway(pod string) bool {
	return slices.ContainsFunc(v.away, func(m Manifest) bool { return v.podOf(m) == pod })
}

// manifestsOf are the files in the kubelet's folder that are of a pod.
func (v *view) manifestsOf(pod string) (files []string) {
	for _, m := range v.facts.Watched {
		if m.Pod == pod {
			files = append(files, m.File)
		}
	}
	return files
}

func has(manifests []Manifest, file string) bool {
	return slices.ContainsFunc(manifests, func(m Manifest) bool { return m.File == file })
}
