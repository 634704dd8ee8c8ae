// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// evictionObject is an Eviction, or the same fields of an EvictionRequest.
type evictionObject struct {
	thing
	Spec struct {
		Target struct {
			Pod struct {
				Name string `json:"name"`
				UID  string `json:"uid"`
			} `json:"pod"`
		} `json:"target"`
	} `json:"spec"`
	Status struct {
		Conditions []condition `json:"conditions"`
	} `json:"status"`

	ours bool // it was created by us
}

func (e *evictionObject) ended() bool {
	return isTrue(e.Status.Conditions, "TargetEvicted", "Failed")
}

// isOfEvictions reports whether the request is about Evictions or EvictionRequests.
func isOfEvictions(r auditlog.Request) bool {
	return r.Group == "lifecycle.k8s.io" && (r.Resource == "evictions" || r.Resource == "evictionrequests")
}

// took reports whether the server took the request in.
func took(r auditlog.Request) bool { return r.Code >= 200 && r.Code < 300 }

// noVerdict are refusals that do not judge the write: another writer was faster, the object is deleted, or the
// server has too much to do.
var noVerdict = []int{http.StatusConflict, http.StatusNotFound, http.StatusTooManyRequests}

// isNobodysFault also accepts refusals because the namespace is terminating, which no object of the namespace shows,
// and because the test has set the writer's clock.
func (c *checker) isNobodysFault(r auditlog.Request) bool {
	if slices.Contains(noVerdict, r.Code) {
		return true
	}
	var answer refusal
	if json.Unmarshal(r.Answer, &answer) != nil {
		return false
	}
	causes := answer.Details.Causes
	switch r.Code {
	case http.StatusForbidden:
		return len(causes) == 1 && causes[0].Reason == namespaceTerminating
	case http.StatusUnprocessableEntity:
		return c.options.ClocksJump && len(causes) > 0 && !slices.ContainsFunc(causes, func(one cause) bool {
			return !slices.ContainsFunc(ofAClock, func(said string) bool { return strings.Contains(one.Message, said) })
		})
	default:
		return false
	}
}

// refusal is the answer of the server to a write that it refuses.
type refusal struct {
	Details struct {
		Causes []cause `json:"causes"`
	} `json:"details"`
}

type cause struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// ofAClock are the server's refusals of times that differ from its own clock, or precede earlier times of the object.
var ofAClock = []string{"must be set to the present time", "must occur after"}

// right is a permission of a user for a verb and a resource.
type right struct{ user, verb, resource, subresource string }

func rightTo(r auditlog.Request) right { return right{r.User, r.Verb, r.Resource, r.Subresource} }

// judgeDenied reports refusals of requests that the server has never allowed.
func (c *checker) judgeDenied() {
	for _, r := range c.denied {
		if !c.rights[rightTo(r)] {
			c.violated(r, "refused by the server, and never let do it: %s", r.Answer)
		}
	}
}

// namespaceTerminating is the cause of a refusal to create anything.
const namespaceTerminating = "NamespaceTerminating"

// refused judges what the server did not let us write.
func (c *checker) refused(r auditlog.Request) {
	switch {
	case r.Code >= http.StatusInternalServerError || c.isNobodysFault(r):
	case c.options.Restarts && lacksRight(r):
		c.denied = append(c.denied, r)
	default:
		c.violated(r, "refused by the server: %s", r.Answer)
	}
}

// lacksRight reports whether the server refused the request for a missing permission: policies give a reason.
func lacksRight(r auditlog.Request) bool {
	var answer refusal
	return r.Code == http.StatusForbidden && json.Unmarshal(r.Answer, &answer) == nil && len(answer.Details.Causes) == 0
}

// evictionWritten takes in an Eviction or an EvictionRequest, and judges what we write.
func (c *checker) evictionWritten(r auditlog.Request) {
	ours := c.options.Ours(r)
	if !took(r) {
		if ours {
			c.refused(r)
		}
		return
	}
	c.rights[rightTo(r)] = true
	k := r.Resource + " " + key(r.Namespace, r.Name)
	if deletes(r) {
		c.over(c.evictions[k], r)
		delete(c.evictions, k)
		return
	}
	o := object[evictionObject](r)
	if o == nil {
		return
	}
	k = r.Resource + " " + key(o.Metadata.Namespace, o.Metadata.Name)
	known := c.evictions[k]
	if known != nil && o.olderThan(&known.thing) {
		return
	}
	if o.partial() && known != nil {
		o.Spec, o.Status = known.Spec, known.Status
	}
	o.ours = ours && r.Verb == "create" || known != nil && known.ours
	switch {
	case !ours:
	case r.Verb == "create":
		c.judgeAlone(r, o)
	case known != nil && known.Metadata.UID == o.Metadata.UID && known.Metadata.ResourceVersion == o.Metadata.ResourceVersion:
		c.violated(r, "has written an unchanged object")
	}
	if o.ended() {
		c.over(o, r)
	}
	c.evictions[k] = o
}

// over records the end of an Eviction, or of a request for one, once.
func (c *checker) over(o *evictionObject, r auditlog.Request) {
	if o == nil || r.Resource != "evictions" {
		return
	}
	if known := c.evictions[r.Resource+" "+key(o.Metadata.Namespace, o.Metadata.Name)]; known != nil && known.ended() {
		return
	}
	c.ranUntil[o.Spec.Target.Pod.UID] = r.Ended
}

// judgeAlone: of a pod, we let one Eviction run at a time.
func (c *checker) judgeAlone(r auditlog.Request, created *evictionObject) {
	if r.Resource != "evictions" {
		return
	}
	for k, e := range c.evictions {
		if e.ours && strings.HasPrefix(k, r.Resource+" ") && k != r.Resource+" "+key(created.Metadata.Namespace, created.Metadata.Name) && !e.ended() &&
			e.Metadata.Namespace == created.Metadata.Namespace && e.Spec.Target == created.Spec.Target {
			c.violated(r, "created %s while %s of the same pod is running", created.Metadata.Name, e.Metadata.Name)
		}
	}
}
