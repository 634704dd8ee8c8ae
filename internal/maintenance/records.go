// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// maxRecordMessage is how many bytes a record says why something failed.
const maxRecordMessage = 256

// recordOf is what the Node says of how a maintenance is done with it. A failure from before
// spec.retry was raised is as if it had not been; so is what is said of a node that is out
// again, or has given way.
func (n *node) recordOf(m *maintained) *Record {
	r := rawRecord(n.Records, m.UID)
	if r != nil && (r.State == RecordFailed && r.Retry < m.Spec.Retry || r.State == RecordHeldBack) {
		return nil
	}
	return r
}

// note records how a maintenance is done with a node.
func (p *pass) note(n *node, r Record) {
	if !n.exists() {
		return
	}
	r.Message = reasons.Shorten(r.Message, maxRecordMessage)
	r.At = p.second().Time
	if old := rawRecord(n.Records, r.UID); old != nil && n.cordonedFor(*old) {
		r.Cordon = old.Cordon // nothing has undone it yet
	}
	n.records = append(without(n.records, r.UID), r)
}

// fail records that something has failed.
func (p *pass) fail(n *node, m *maintained, why reasoned) {
	r := Record{UID: m.UID, State: RecordFailed, Retry: m.Spec.Retry, Reason: why.reason, Message: why.message}
	if n.drain != nil {
		r.Event, r.Cordon = n.drain.UID, n.drain.UID
	}
	p.note(n, r)
}

func without(records []Record, uid types.UID) []Record {
	return slices.DeleteFunc(slices.Clone(records), func(r Record) bool { return r.UID == uid })
}

// record writes the records of a Node that have changed. Those of maintenances that are
// gone, or are being deleted and have no node out any more, go with it, and if there is
// nothing else to write.
func (p *pass) record(n *node) {
	if !n.exists() {
		return
	}
	n.records = slices.DeleteFunc(slices.Clone(n.records), func(r Record) bool {
		m := p.byUID[r.UID]
		if m != nil && (m.DeletionTimestamp == nil || entryOf(n.fors, r.UID) != nil) {
			return false
		}
		return m == nil || !n.cordonedFor(r) || m.givenUp(r)
	})
	if !slices.Equal(n.records, n.Records) {
		p.do(RecordOnNode{Node: n.name, Records: n.records})
	}
}

// cordonedFor says whether the Node is still cordoned for a drain that is no more.
func (n *node) cordonedFor(r Record) bool {
	return r.Cordon != "" && slices.Contains(n.CordonedFor, r.Cordon)
}

// givenUp says whether a node that could not be put back is left as it is. It is tried again
// once when the maintenance is to return its nodes, and with each retry.
func (m *maintained) givenUp(r Record) bool {
	return r.Reason == slipwayv1alpha1.ReasonReturnFailed && r.Retry >= m.Spec.Retry && !r.At.Before(m.returnsSince())
}

// returnsSince is since when all nodes of the maintenance are to return; zero, if they are
// not.
func (m *maintained) returnsSince() time.Time {
	if m.DeletionTimestamp != nil {
		return m.DeletionTimestamp.Time
	}
	return m.began(slipwayv1alpha1.StageComplete)
}

// rawRecord is the record of a maintenance, whatever it is worth.
func rawRecord(records []Record, uid types.UID) *Record {
	i := slices.IndexFunc(records, func(r Record) bool { return r.UID == uid })
	if i < 0 {
		return nil
	}
	return &records[i]
}
