// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// thing has the fields that all objects share, as far as the checker needs them.
type thing struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name                       string            `json:"name"`
		Namespace                  string            `json:"namespace"`
		UID                        string            `json:"uid"`
		ResourceVersion            string            `json:"resourceVersion"`
		Labels                     map[string]string `json:"labels"`
		Annotations                map[string]string `json:"annotations"`
		Finalizers                 []string          `json:"finalizers"`
		DeletionTimestamp          string            `json:"deletionTimestamp"`
		DeletionGracePeriodSeconds int64             `json:"deletionGracePeriodSeconds"`
		OwnerReferences            []struct {
			Kind       string `json:"kind"`
			UID        string `json:"uid"`
			APIVersion string `json:"apiVersion"`
			Controller bool   `json:"controller"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
}

// condition is a condition of any object.
type condition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	Reason string `json:"reason"`
}

// isTrue reports whether a condition of one of the types is True.
func isTrue(conditions []condition, types ...string) bool {
	return slices.ContainsFunc(conditions, func(c condition) bool { return c.Status == "True" && slices.Contains(types, c.Type) })
}

func (t *thing) name() string { return t.Metadata.Name }

// partial reports whether the answer had only the metadata of the object: the garbage collector requests only these.
func (t *thing) partial() bool { return t.Kind == "PartialObjectMetadata" }

// olderThan reports whether the other is a later version of the same object: of two writes
// at the same time, the one that came first may be answered last.
func (t *thing) olderThan(other *thing) bool {
	return t.Metadata.UID == other.Metadata.UID && t.compare(other) < 0
}

// compare compares the versions of two objects; an object without a version equals any other object.
func (t *thing) compare(other *thing) int {
	mine, errMine := strconv.ParseUint(t.Metadata.ResourceVersion, 10, 64)
	theirs, errTheirs := strconv.ParseUint(other.Metadata.ResourceVersion, 10, 64)
	if errMine != nil || errTheirs != nil {
		return 0
	}
	return cmp.Compare(mine, theirs)
}

// gone reports whether the deletion that was answered with the object has removed it.
func (t *thing) gone() bool {
	m := &t.Metadata
	return len(m.Finalizers) == 0 && (m.DeletionTimestamp == "" || m.DeletionGracePeriodSeconds == 0)
}

// object decodes the object that a write has left behind; nil if the log has none, as
// where the answer is a Status.
func object[T any, P interface {
	*T
	name() string
}](r auditlog.Request) *T {
	o := new(T)
	if err := json.Unmarshal(r.Answer, o); err != nil || P(o).name() == "" {
		return nil
	}
	return o
}

func key(namespace, name string) string { return namespace + "/" + name }

// deletes reports whether the request is for the deletion of objects.
func deletes(r auditlog.Request) bool { return r.Verb == "delete" || r.Verb == "deletecollection" }

// nodeOf is the node as which the request was made, empty if it was made as another.
func nodeOf(r auditlog.Request) string {
	node, _ := strings.CutPrefix(r.Impersonated, nodeUser)
	if node == r.Impersonated {
		return ""
	}
	return node
}

const nodeUser = "system:node:"
