// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// ForsOf are the maintenances that an event is for. What cannot be read was not written by
// us, and counts as none.
func ForsOf(e *lifecyclev1alpha1.LifecycleEvent) []For {
	var fors []For
	if err := json.Unmarshal([]byte(e.Annotations[slipwayv1alpha1.MaintenancesAnnotation]), &fors); err != nil {
		return nil
	}
	return fors
}

// setFors writes them to the event, unless they stand there already.
func setFors(e *lifecyclev1alpha1.LifecycleEvent, fors []For) {
	if e.Annotations[slipwayv1alpha1.MaintenancesAnnotation] != "" && slices.Equal(ForsOf(e), fors) {
		return
	}
	raw, err := json.Marshal(fors)
	if err != nil {
		return // a struct of texts, numbers and times of this age can be written
	}
	if e.Annotations == nil {
		e.Annotations = map[string]string{}
	}
	e.Annotations[slipwayv1alpha1.MaintenancesAnnotation] = string(raw)
}

// entryOf is the entry of a maintenance; nil, if there is none.
func entryOf(fors []For, uid types.UID) *For {
	i := slices.IndexFunc(fors, func(f For) bool { return f.UID == uid })
	if i < 0 {
		return nil
	}
	return &fors[i]
}

// released says whether the node is on its way back: whoever comes, waits.
func released(fors []For) bool {
	return !slices.ContainsFunc(fors, func(f For) bool { return !f.Released })
}
