// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// unreadable injects an error into each read, and keeps the name that was asked for.
type unreadable struct {
	client.Reader
	asked string
}

func (u *unreadable) Get(_ context.Context, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
	u.asked = key.Name
	return errRefused
}

// The controller has the one rule for names of events, also for nodes whose names are too long
// for a prefix, or read as the return of another node.
func TestTheEventOfANodeHasTheNameThatTheControllerGivesIt(t *testing.T) {
	for name, node := range map[string]string{
		"a short name":   "worker-1",
		"a return":       "rack-return",
		"the longest":    strings.Repeat("a", 253),
		"one that fits":  strings.Repeat("a", 253-len("maintenance-")),
		"one too long":   strings.Repeat("a", 254-len("maintenance-")),
		"one with parts": strings.Repeat("a.", 125) + "a",
	} {
		t.Run(name, func(t *testing.T) {
			reader := &unreadable{}
			_, err := maintenanceEvent(t.Context(), reader, node)
			want := maintenance.DrainName(node)
			if reader.asked != want || len(want) > 253 {
				t.Errorf("asked for %q; want %q", reader.asked, want)
			}
			if !errors.Is(err, errRefused) || !strings.Contains(err.Error(), "LifecycleEvent "+want) {
				t.Errorf("got error %v", err)
			}
		})
	}
}
