// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"encoding/json"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// Drain is a drain without an event, by a caller of the library.
type Drain struct {
	Node  string
	Began time.Time
	// Parameters are as in spec.parameters of an event.
	Parameters Parameters
}

// Parameters are the parameters of a drain that widen its permissions.
type Parameters struct {
	Targets    []Target `json:"targets"`
	Escalation struct {
		DeleteAfter Duration `json:"deleteAfter"`
		KillAfter   Duration `json:"killAfter"`
	} `json:"escalation"`
}

// Target covers pods that leave.
type Target struct {
	PodType     string                `json:"podType"`
	PodPriority *int64                `json:"podPriority"`
	PodSelector *metav1.LabelSelector `json:"podSelector"`
}

// Duration is written as a text, such as 1m30s.
type Duration struct{ time.Duration }

// UnmarshalText reads it.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	d.Duration, err = time.ParseDuration(string(text))
	return err
}

// hearsay is the longest time in which a drain on a busy machine learns of a change.
const hearsay = 5 * time.Second

// ongoing is a drain of a node.
type ongoing struct {
	began      time.Time
	parameters []Parameters // that it may know of
}

// drainsOf returns the drains of the node that were in progress when the request was made.
func (c *checker) drainsOf(node string, r auditlog.Request) []ongoing {
	var all []ongoing
	for _, d := range c.options.Drains {
		if d.Node == node && !d.Began.After(r.Ended) {
			all = append(all, ongoing{d.Began, []Parameters{d.Parameters}})
		}
	}
	for _, e := range c.events {
		if e.Spec.BindingNode == node && (e.Status.ClaimStatus == "Claimed" || e.protected()) {
			all = append(all, ongoing{e.claimed, e.heard(r.Began.Add(-hearsay))})
		}
	}
	return all
}

// asked has the parameters of an event from some time on.
type asked struct {
	since time.Time
	Parameters
}

// askedBy returns the parameters of the event; unreadable parameters are empty.
func askedBy(e *event) (p Parameters) {
	if len(e.Spec.Parameters) > 0 && json.Unmarshal(e.Spec.Parameters, &p) != nil {
		return Parameters{}
	}
	return p
}

// heard are the parameters that were in force at the given time or later.
func (e *event) heard(since time.Time) []Parameters {
	var all []Parameters
	for i, a := range e.asked {
		if i+1 == len(e.asked) || !e.asked[i+1].since.Before(since) {
			all = append(all, a.Parameters)
		}
	}
	return all
}

// covers reports whether a drain with these parameters may evict the pod.
func (p Parameters) covers(pod *pod) bool {
	switch {
	case pod.mirror():
		return false
	case pod.finished():
		return true // it no longer runs, and kubectl drain removes it, too
	case len(p.Targets) == 0:
		return !pod.ofDaemonSet()
	}
	return slices.ContainsFunc(p.Targets, func(t Target) bool { return t.covers(pod) })
}

func (t Target) covers(pod *pod) bool {
	podType := "Default"
	if pod.ofDaemonSet() {
		podType = "DaemonSet"
	}
	return t.PodType == podType && (t.PodPriority == nil || pod.Spec.Priority <= *t.PodPriority) &&
		(t.PodSelector == nil || selects(t.PodSelector, pod.Metadata.Labels))
}
