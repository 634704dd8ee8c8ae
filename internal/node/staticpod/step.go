// SPDX-License-Identifier: Apache-2.0

package staticpod

// Step is one thing to do on the machine. Each may be done twice, and a crash in the middle is
// as if it had been done or not.
type Step interface{ isStep() }

type (
	// Record writes the journal.
	Record struct{ Journal Journal }
	// Take moves a manifest out of the kubelet's folder.
	Take struct{ File, Pod string }
	// PutBack moves it back.
	PutBack struct {
		File, Pod string
		// Changed: somebody has changed it while it was away.
		Changed bool
	}
	// Say says on the Node how it is.
	Say struct{ Report Report }
)

func (Record) isStep()  {}
func (Take) isStep()    {}
func (PutBack) isStep() {}
func (Say) isStep()     {}
