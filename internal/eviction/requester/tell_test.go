// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"errors"
	"fmt"
	"testing"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// How many pods an event names, the node says, and it may lie.
func TestAPassWritesOneShortLineOfWhatItRefusedAndOneOfWhatFailed(t *testing.T) {
	e := &lifecyclev1alpha1.LifecycleEvent{}
	var refused []Refuse
	var failures []error
	for i := range 500 {
		refused = append(refused, Refuse{Event: e, Pod: reference(fmt.Sprint("p", i)), Why: "it is on node n2", Lies: i > 0})
		failures = append(failures, fmt.Errorf("read pod p%d: no", i))
	}
	for name, tc := range map[string]struct {
		refused  []Refuse
		failures []error
		lines    int
	}{
		"nothing":           {},
		"lies":              {refused: refused, lines: 1},
		"no lies":           {refused: refused[:1], lines: 1},
		"failures":          {failures: failures, lines: 1},
		"only a late watch": {failures: []error{errTaken, fmt.Errorf("event: %w", errUnseen)}},
		"both":              {failures: []error{errTaken, errors.New("no")}, lines: 1},
	} {
		t.Run(name, func(t *testing.T) {
			var lines []string
			ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{Verbosity: 1}))
			logRefused(ctx, tc.refused)
			if err := summary(tc.failures); err != nil {
				lines = append(lines, err.Error())
			}
			if len(lines) != tc.lines {
				t.Errorf("%d lines, want %d:\n%s", len(lines), tc.lines, lines)
			}
			for _, line := range lines {
				if len(line) > 1000 {
					t.Errorf("%d characters: %s", len(line), line)
				}
			}
		})
	}
}
