// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"
	"time"

	"k8s.io/utils/ptr"
)

// handover is the time of a step beside the grace periods of its pods: for the requests, and until the kubelet has confirmed.
const handover = 2 * time.Second

// span is the time from the beginning of a shutdown until the machine stops. Zero length: the machine does not stop. Zero since:
// the beginning is unknown.
type span struct {
	since  time.Time
	length time.Duration
}

// share shares the time out among the steps. It returns the latest beginning of each step: from then on, each of its pods has
// its grace period, and after it each pod of the later steps. If the whole time is too short for that, each step gets a part of
// it in proportion to its grace period, and short is true. Only the whole time counts, not the rest of it: otherwise a step
// that is stuck would take time from the later steps.
func (s span) share(steps [][]leaver, r Request) (starts []time.Time, short bool) {
	if s.length <= 0 || s.since.IsZero() {
		return nil, false
	}
	needs, sum := make([]time.Duration, len(steps)), time.Duration(0)
	for i, step := range steps {
		for _, l := range step {
			grace := ptr.Deref(r.GracePeriodSeconds, graceOf(l.pod))
			needs[i] = max(needs[i], handover+time.Duration(min(grace, int64(s.length/time.Second)))*time.Second)
		}
		sum += needs[i]
	}
	part := min(1, s.length.Seconds()/sum.Seconds())
	starts = make([]time.Time, len(steps))
	begin := s.since.Add(s.length)
	for i := len(steps) - 1; i >= 0; i-- {
		begin = begin.Add(-time.Duration(part * float64(needs[i])))
		starts[i] = begin
	}
	return starts, sum > s.length
}

// awaitVolumes keeps a DaemonSet pod while volumes are attached that no pod on the node uses any longer: the pod may be their
// driver. The wait has the limit of the wait at the end of a drain, and ends early enough before the machine stops.
func (p *pacing) awaitVolumes(l leaver, since time.Time) (hold *obstacle, wake time.Time) {
	f := p.facts
	late := since.Add(f.request.volumeTimeout())
	if f.shutdown.length == 0 || p.late || typeOf(l.pod) != PodTypeDaemonSet || len(f.node.attached) == 0 || len(claims(f.pods)) > 0 || !f.now.Before(late) {
		return nil, time.Time{}
	}
	volume := slices.Min(f.node.attached)
	return VolumeAttached.obstacle(volume, "volume %s is still attached, and the pod may be its driver", volume), late
}
