// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"cmp"
	"slices"
)

// Next is the next step; nil, if there is none. A manifest is put back whatever else cannot be
// done; it is taken away only when the journal says so.
func Next(f Facts) Step {
	if f.Torn && !f.Asked {
		return nil // nobody knows what is wished
	}
	v := look(f)
	if j := v.journal(); (f.Torn || !j.equal(f.Journal)) && f.can(JournalFile) {
		return Record{j}
	}
	for _, m := range v.back {
		if f.can(m.File) {
			return PutBack{File: m.File, Pod: v.podOf(m), Changed: v.changed(m)}
		}
	}
	for _, m := range v.take {
		if _, noted := f.noted(m.File); noted && f.can(m.File) {
			return Take{File: m.File, Pod: m.Pod}
		}
	}
	if r := v.report(); f.Asked && !r.says(f.Said) {
		return Say{r}
	}
	return nil
}

func (f Facts) can(file string) bool { return f.Failed[file] == "" }

// noted is what the journal says of a file.
func (f Facts) noted(file string) (Entry, bool) {
	i := slices.IndexFunc(f.Journal.Away, func(e Entry) bool { return e.File == file })
	if f.Torn || i < 0 {
		return Entry{}, false
	}
	return f.Journal.Away[i], true
}

func (j Journal) equal(other Journal) bool {
	return slices.Equal(j.Wanted, other.Wanted) && slices.Equal(j.Away, other.Away)
}

func (r Report) says(text string) bool {
	own, err := r.Text()
	return err == nil && own == text
}

// journal is what is to be remembered: what is away and ours, what is to be taken, and what
// somebody has put back by hand.
func (v view) journal() Journal {
	j := Journal{Wanted: v.wanted, Away: slices.Clone(v.byHand)}
	for _, m := range v.away {
		e, noted := v.facts.noted(m.File)
		if !noted || e.State == Taking {
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

// changed says whether a manifest is not what it was when it was taken.
func (v view) changed(m Manifest) bool {
	e, noted := v.facts.noted(m.File)
	return noted && e.State != Taking && e.Sum != m.Sum
}

// report is what the Node is to say.
func (v view) report() Report {
	r := Report{ControlPlane: v.facts.ControlPlane}
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
