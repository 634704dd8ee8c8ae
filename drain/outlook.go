// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// outlook is what a drain that was rehearsed has done.
func (d *rehearsed) outlook() Outlook {
	steps := order(d.leaving, d.own)
	o := Outlook{Node: d.request.NodeName, Steps: len(steps)}
	must := map[types.UID]bool{}
	for i, step := range steps {
		from := len(o.Pods)
		for _, l := range step {
			must[l.pod.UID] = true
			p := d.courseOf(l)
			p.Step = i + 1
			o.Pods = append(o.Pods, p)
		}
		slices.SortStableFunc(o.Pods[from:], comparePodOutlooks)
	}
	from := len(o.Pods)
	for _, pod := range d.found {
		if !must[pod.UID] {
			o.Pods = append(o.Pods, d.stays(pod))
		}
	}
	slices.SortStableFunc(o.Pods[from:], comparePodOutlooks)
	return o
}

// courseOf is what has become of a pod that must leave.
func (d *rehearsed) courseOf(l leaver) PodOutlook {
	c := d.courses[l.pod.UID]
	p := PodOutlook{Pod: l.pod, Verdict: d.verdict(l, c), After: c.after, Round: c.round}
	if p.Verdict == Blocked || p.Verdict == Stuck {
		c.held = d.holding(l.pod)
	}
	if c.held != nil && p.Verdict != EvictNow && p.Verdict != Ending && p.Verdict != Behind {
		p.Reason, p.By, p.Message = c.held.Reason, c.held.By, c.held.Message
	}
	switch p.Verdict {
	case AwaitCompletion:
		p.After = l.deadline
	case Recur:
		o := recurs(l.pod, metav1.GetControllerOfNoCopy(l.pod))
		p.Reason, p.By, p.Message = o.reason, o.by, o.message
	case Blocked:
		d.explainRules(&p)
	default:
	}
	if (c.sent || p.Verdict == TakeAway) && !isFinished(l.pod) && p.Verdict != Recur {
		p.LocalStorage = localVolumes(l.pod)
		p.Unmanaged = isUnmanaged(l.pod)
	}
	return p
}

func (d *rehearsed) verdict(l leaver, c course) Verdict {
	remains := slices.ContainsFunc(d.pods, func(p *corev1.Pod) bool { return p.UID == l.pod.UID })
	switch {
	case c.awaited:
		return AwaitCompletion
	case c.taken && !remains:
		return TakeAway
	case c.sent && remains:
		return Stuck
	case c.sent && typeOf(l.pod) == PodTypeDaemonSet:
		return Recur
	case c.sent && c.by == byDeletion:
		return DeleteLater
	case c.sent && c.round == 1:
		return EvictNow
	case c.sent:
		return EvictLater
	case !remains:
		return Ending
	case d.holding(l.pod) != nil || d.rulesBad[l.pod.Namespace]:
		return Blocked
	default:
		return Behind
	}
}

// explainRules gives pods that stay because of rules that cannot be understood what the drain as a whole says.
func (d *rehearsed) explainRules(p *PodOutlook) {
	if p.Reason != "" {
		return
	}
	for _, o := range d.reading {
		if o.by == rulesOf(p.Pod.Namespace) {
			p.Reason, p.By, p.Message = o.reason, o.by, o.message
		}
	}
}

// stays is a pod that need not leave.
func (d *rehearsed) stays(pod *corev1.Pod) PodOutlook {
	p := PodOutlook{Pod: pod, Verdict: Stay, Exemption: exemption(pod, d.request.Targets, d.own)}
	if p.Exemption != "" {
		return p
	}
	for _, b := range d.status.Left {
		if b.Pod.Namespace == pod.Namespace && b.Pod.Name == pod.Name {
			p.Reason, p.By, p.Message = b.Reason, b.By, b.Message
		}
	}
	return p
}

func comparePodOutlooks(a, b PodOutlook) int {
	return cmp.Or(
		compareFlags(a.Round == 0, b.Round == 0),
		cmp.Compare(a.Round, b.Round),
		cmp.Compare(a.Exemption, b.Exemption),
		cmp.Compare(a.Pod.Namespace, b.Pod.Namespace),
		cmp.Compare(a.Pod.Name, b.Pod.Name),
	)
}

func localVolumes(pod *corev1.Pod) []string {
	var names []string
	for _, v := range pod.Spec.Volumes {
		if v.EmptyDir != nil {
			names = append(names, v.Name)
		}
	}
	return names
}
