// SPDX-License-Identifier: Apache-2.0

package staticpod

// Facts is all that is known on the machine.
type Facts struct {
	// Asked: what the Node wishes is known. Wanted are the pods that it wants away, as [Wanted]
	// gives them.
	Asked  bool
	Wanted []string
	// ControlPlane: the machine was told that those of the control plane may go, too.
	ControlPlane bool
	// Journal is what was written last. Torn: there is none, or it cannot be read.
	Journal Journal
	Torn    bool
	// Watched are the files in the kubelet's folder, Away those in the folder beside; both by
	// name.
	Watched, Away []Manifest
	// Failed is what could not be done, by the file, or [JournalFile]: it is not tried again
	// before the facts are taken anew.
	Failed map[string]string
	// Said is what the Node says of it, the text of [HostAnnotation].
	Said string
}

// JournalFile stands for the journal in [Facts.Failed]. No manifest has that name.
const JournalFile = ""

// Manifest is a file in one of the two folders.
type Manifest struct {
	File string
	// Pod is the mirror pod that the kubelet makes of it, as in [Wish]. Empty: it is no manifest
	// of a pod, or cannot be read; then Trouble says why.
	Pod          string
	ControlPlane bool
	// Sum of the content.
	Sum     string
	Trouble string
}

// Journal is what must not be forgotten.
type Journal struct {
	// Wanted is what the Node has wished last.
	Wanted []string `json:"wanted,omitempty"`
	// Away are the files that were taken away, or are to be, by name.
	Away []Entry `json:"away,omitempty"`
}

// Entry is a file that was taken away, or is to be.
type Entry struct {
	File  string `json:"file"`
	Pod   string `json:"pod,omitempty"`
	Sum   string `json:"sum,omitempty"`
	State State  `json:"state"`
}

// State is how far a file is on its way.
type State string

// The states.
const (
	// Taking: it is to be taken away, and may be.
	Taking State = "Taking"
	// Away: it is away. Where it is not, somebody has moved it.
	Away State = "Away"
	// Returning: it is to be put back, and may be.
	Returning State = "Returning"
)
