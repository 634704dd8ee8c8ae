// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Facts are the known facts on the machine.
type Facts struct {
	// Asked means that the Node's wishes are known. Wanted are the pods that must leave, as in [Wanted].
	Asked  bool
	Wanted []string
	// ControlPlane means that manifests of the control plane may move, too.
	ControlPlane bool
	// Journal was written last. Torn means that it is missing or unreadable.
	Journal Journal
	Torn    bool
	// Watched are the files in the kubelet's folder, Away the files in the folder beside; both by name.
	Watched, Away []Manifest
	// Failed are the errors by file, or by [JournalFile]: the next attempt follows with new facts.
	Failed map[string]string
	// Said is the Node's [HostAnnotation].
	Said string
}

// JournalFile stands for the journal in [Facts.Failed]. No manifest has that name.
const JournalFile = ""

// Manifest is a file in one of the two folders.
type Manifest struct {
	File string
	// Pod is the mirror pod, as in [Wish]; empty if the file is no readable manifest of a pod, as Trouble explains.
	Pod          string
	ControlPlane bool
	// Sum of the content.
	Sum     string
	Trouble string
}

// Journal is the memory of slipway-host.
type Journal struct {
	// Wanted are the last known wishes.
	Wanted []string `json:"wanted,omitempty"`
	// Away are the files that were moved away, or must move, by name.
	Away []Entry `json:"away,omitempty"`
}

// Entry is a file that was moved away, or must move.
type Entry struct {
	File  string `json:"file"`
	Pod   string `json:"pod,omitempty"`
	Sum   string `json:"sum,omitempty"`
	State State  `json:"state"`
}

// State is the state of a move.
type State string

// The states.
const (
	// Taking means that the file may be in either folder, and must leave the kubelet's.
	Taking State = "Taking"
	// Away means that the file has left. If it has returned, an administrator has moved it.
	Away State = "Away"
	// Returning means that the file may be in either folder, and must return.
	Returning State = "Returning"
)

// Step is one step on the machine. Repeating it is harmless, and a crash leaves no partial step.
type Step interface{ isStep() }

type (
	// Record writes the journal.
	Record struct{ Journal Journal }
	// Take moves a manifest out of the kubelet's folder.
	Take struct{ File, Pod string }
	// PutBack moves it back.
	PutBack struct {
		File, Pod string
		// Changed means that the manifest has changed in the meantime.
		Changed bool
	}
	// Publish writes the Node's report.
	Publish struct{ Report Report }
)

func (Record) isStep()  {}
func (Take) isStep()    {}
func (PutBack) isStep() {}
func (Publish) isStep() {}

// Next returns the next step; nil without a step. A manifest returns despite other failures; it leaves only after the
// journal has recorded that.
func Next(f Facts) Step {
	if f.Torn && !f.Asked {
		return nil // the wishes are unknown
	}
	v := look(f)
	can := func(file string) bool { return f.Failed[file] == "" }
	if j := v.journal(); can(JournalFile) && (f.Torn || !slices.Equal(j.Wanted, f.Journal.Wanted) || !slices.Equal(j.Away, f.Journal.Away)) {
		return Record{j}
	}
	for _, m := range v.back {
		if can(m.File) {
			e, recorded := v.entry(m.File)
			return PutBack{File: m.File, Pod: v.podOf(m), Changed: recorded && e.State != Taking && e.Sum != m.Sum}
		}
	}
	for _, m := range v.take {
		if _, recorded := v.entry(m.File); recorded && can(m.File) {
			return Take{File: m.File, Pod: m.Pod}
		}
	}
	r := v.report()
	if text, err := r.Text(); f.Asked && (err != nil || text != f.Said) {
		return Publish{r}
	}
	return nil
}

// view has the conclusions from the facts.
type view struct {
	Facts
	wanted []string
	// away are the files beside the kubelet's folder that slipway-host moved; back must return. take must leave the
	// kubelet's folder.
	away, back, take []Manifest
	// byHand are files that an administrator has moved back against a wish: they stay in the kubelet's folder.
	byHand  []Entry
	trouble []Trouble
}

func look(f Facts) *view {
	v := &view{Facts: f, wanted: f.Wanted}
	if !f.Asked {
		v.wanted = f.Journal.Wanted
	}
	for _, m := range f.Away {
		if _, recorded := v.entry(m.File); recorded || f.Torn {
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
		v.tell("", fmt.Sprintf("slipway-host moves no further manifest away, because it cannot write its journal: %s", why))
	}
	return v
}

// lookAway decides about a file beside the kubelet's folder.
func (v *view) lookAway(m Manifest) {
	pod := v.podOf(m)
	if v.wants(pod) || pod == "" && len(v.wanted) > 0 {
		return
	}
	i := slices.IndexFunc(v.Watched, func(w Manifest) bool { return w.File == m.File || pod != "" && w.Pod == pod })
	if i >= 0 {
		v.tell(cmp.Or(pod, m.File), fmt.Sprintf("%s stays away, because another manifest, %s, is in the kubelet's folder; remove the unwanted one", m.File, v.Watched[i].File))
		return
	}
	v.back = append(v.back, m)
	v.failed(m.File, pod)
}

// lookWatched decides about a file in the kubelet's folder.
func (v *view) lookWatched(m Manifest) {
	if !v.wants(m.Pod) {
		return
	}
	others := v.manifestsOf(m.Pod)
	switch {
	case slices.ContainsFunc(v.byHand, func(e Entry) bool { return e.File == m.File }):
		v.tell(m.Pod, m.File+" stays, because an administrator has moved it back")
	case has(v.Facts.Away, m.File), v.isAway(m.Pod):
		v.tell(m.Pod, m.File+" stays, because another manifest of that name, or of the pod, was moved away before")
	case len(others) > 1:
		v.tell(m.Pod, fmt.Sprintf("%s are manifests of the same pod: remove all except one", strings.Join(others, ", ")))
	case m.ControlPlane && !v.ControlPlane:
		v.tell(m.Pod, m.File+" stays: slipway-host moves manifests of the control plane only with --control-plane-static-pods")
	default:
		v.take = append(v.take, m)
		v.failed(m.File, m.Pod)
	}
}

// lookFor reports a pod without a manifest.
func (v *view) lookFor(pod string) {
	if v.isAway(pod) || len(v.manifestsOf(pod)) > 0 {
		return
	}
	text := "no file in the kubelet's folder is its manifest"
	var unread []string
	for _, m := range v.Watched {
		if m.Trouble != "" {
			unread = append(unread, fmt.Sprintf("%s (%s)", m.File, m.Trouble))
		}
	}
	if len(unread) > 0 {
		text += "; unreadable files: " + strings.Join(unread[:min(len(unread), 3)], ", ")
	}
	v.tell(pod, text)
}

func (v *view) failed(file, pod string) {
	if why := v.Failed[file]; why != "" {
		v.tell(cmp.Or(pod, file), why)
	}
}

func (v *view) tell(pod, message string) {
	if t := (Trouble{Pod: pod, Message: message}); !slices.Contains(v.trouble, t) {
		v.trouble = append(v.trouble, t)
	}
}

// entry returns the journal's entry of a file.
func (v *view) entry(file string) (Entry, bool) {
	i := slices.IndexFunc(v.Journal.Away, func(e Entry) bool { return e.File == file })
	if v.Torn || i < 0 {
		return Entry{}, false
	}
	return v.Journal.Away[i], true
}

// podOf returns the pod of a file, according to the journal if possible: the file may have changed.
func (v *view) podOf(m Manifest) string {
	if e, recorded := v.entry(m.File); recorded {
		return e.Pod
	}
	return m.Pod
}

func (v *view) wants(pod string) bool { return pod != "" && slices.Contains(v.wanted, pod) }

func (v *view) isAway(pod string) bool {
	return slices.ContainsFunc(v.away, func(m Manifest) bool { return v.podOf(m) == pod })
}

// manifestsOf returns the files in the kubelet's folder for a pod.
func (v *view) manifestsOf(pod string) (files []string) {
	for _, m := range v.Watched {
		if m.Pod == pod {
			files = append(files, m.File)
		}
	}
	return files
}

func has(manifests []Manifest, file string) bool {
	return slices.ContainsFunc(manifests, func(m Manifest) bool { return m.File == file })
}

// journal returns the new journal: the files that have left, the files that must leave, and the files that an
// administrator has moved back.
func (v *view) journal() Journal {
	j := Journal{Wanted: v.wanted, Away: slices.Clone(v.byHand)}
	for _, m := range v.away {
		e, recorded := v.entry(m.File)
		if !recorded || e.State == Taking {
			e = Entry{File: m.File, Pod: cmp.Or(e.Pod, m.Pod), Sum: m.Sum}
		}
		e.State = Away
		if has(v.back, m.File) {
			e.State = Returning
		}
		j.Away = append(j.Away, e)
	}
	for _, m := range v.take {
		j.Away = append(j.Away, Entry{File: m.File, Pod: m.Pod, Sum: m.Sum, State: Taking})
	}
	slices.SortFunc(j.Away, func(a, b Entry) int { return cmp.Compare(a.File, b.File) })
	return j
}

// report returns the new report.
func (v *view) report() Report {
	r := Report{ControlPlane: v.ControlPlane}
	for _, m := range v.away {
		if pod := v.podOf(m); pod != "" {
			r.Away = append(r.Away, pod)
		}
	}
	r.Away = union(r.Away)
	r.Trouble = slices.Clone(v.trouble)
	slices.SortFunc(r.Trouble, func(a, b Trouble) int { return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Message, b.Message)) })
	r.Trouble = r.Trouble[:min(len(r.Trouble), maxTrouble)]
	return r
}
