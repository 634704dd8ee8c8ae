// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

const (
	maxName      = 253 // of an object
	maxLabel     = 63  // of a label's value, and of the name of a pod's Job
	hashLength   = 10
	namePrefix   = "maintenance-"
	returnSuffix = "-return"
)

// DrainName is the name of the event that takes a node out, for whichever maintenances. One
// that would read as the return of another node has a hash.
func DrainName(node string) string {
	return eventName(node, maxName, strings.HasSuffix(node, returnSuffix))
}

// ReturnName is the name of the event that puts it back.
func ReturnName(node string) string {
	return eventName(node, maxName-len(returnSuffix), false) + returnSuffix
}

// eventName is no other node's: one that is too long, or would be mistaken, has a hash of the
// node's name at its end, and so has one that looks as if it had.
func eventName(node string, limit int, mistaken bool) string {
	name := namePrefix + node
	if mistaken || hashed.MatchString(node) {
		return cut(name, limit-1-hashLength) + "-" + hashOf(node)
	}
	return shortened(name, node, limit)
}

// hashed is how a name ends that has a hash.
var hashed = regexp.MustCompile(fmt.Sprintf(`-[0-9a-f]{%d}$`, hashLength))

// JobName is the name of the Job of a maintenance on a node. There is another one for each
// retry: none is run twice.
func JobName(node string, maintenance types.UID, retry int64) string {
	id := node + "/" + string(maintenance) + "/" + strconv.FormatInt(retry, 10)
	readable := strings.ReplaceAll(namePrefix+node, ".", "-")
	return cut(readable, maxLabel-1-hashLength) + "-" + hashOf(id)
}

// nodeLabel is a node's name as the value of a label.
func nodeLabel(node string) string { return shortened(node, node, maxLabel) }

// shortened is the name, or as much of it as there is room for and a hash of what it is of.
func shortened(name, of string, limit int) string {
	if len(name) <= limit {
		return name
	}
	return cut(name, limit-1-hashLength) + "-" + hashOf(of)
}

// cut cuts a name such that it still ends in a letter or a digit.
func cut(name string, limit int) string {
	return strings.TrimRight(name[:min(len(name), limit)], "-.")
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:hashLength]
}

// The values of slipwayv1alpha1.MaintenanceEventLabel.
const (
	// LabelDrain is on the event that takes a node out.
	LabelDrain = "drain"
	// LabelReturn is on the event that puts it back.
	LabelReturn = "return"
	// LabelWork is on a Job and its pods.
	LabelWork = "work"
)

// Labelled reports whether an event or a Job belongs to maintenances.
func Labelled(o metav1.Object) bool {
	_, is := o.GetLabels()[slipwayv1alpha1.MaintenanceEventLabel]
	return is
}

// Selector selects the objects that are [Labelled].
func Selector() labels.Selector {
	exists, err := labels.Parse(slipwayv1alpha1.MaintenanceEventLabel)
	if err != nil {
		panic(err) // never: it is a valid label
	}
	return exists
}
