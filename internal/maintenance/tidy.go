// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
)

// isOurs says whether a Job is one that was created for a maintenance: its name is made of what
// stands on it. A copy that somebody has made of it is theirs, and nothing of ours is left in it.
func isOurs(j *batchv1.Job) bool {
	retry, err := strconv.ParseInt(j.Annotations[annotationRetry], 10, 64)
	return err == nil && j.Name == JobName(j.Annotations[annotationNode], ownerOf(j), retry)
}

// ownerOf is the UID of the maintenance that a Job says that it is for.
func ownerOf(j *batchv1.Job) types.UID { return types.UID(j.Annotations[annotationMaintenance]) }

// tidyJobs deletes the Jobs that nobody needs any more: they have no owner that the garbage
// collector would look after. One that has failed stays for whoever looks into it, until the
// node is tried again or its maintenance goes.
func (p *pass) tidyJobs() {
	for _, j := range p.facts.Jobs {
		if j.DeletionTimestamp == nil && isOurs(j) && p.unneeded(j) {
			p.do(DeleteJob{Job: j})
		}
	}
}

func (p *pass) unneeded(j *batchv1.Job) bool {
	n, m := p.byName[j.Annotations[annotationNode]], p.byUID[ownerOf(j)]
	if n == nil || !n.exists() {
		return true
	}
	entry := entryOf(n.fors, ownerOf(j))
	if finishedAs(j) == nil { // it is waited for, whatever has become of its maintenance
		return entry == nil && (m == nil || m.returns())
	}
	if m == nil || m.DeletionTimestamp != nil {
		return true
	}
	if entry != nil && j.Name != JobName(n.name, m.UID, entry.Retry) {
		return true // from before a retry
	}
	r := n.recordOf(m)
	return r != nil && r.State != RecordFailed
}
