// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"strings"
	"testing"
)

func TestProbeSaysWhetherTheDriverAnswers(t *testing.T) {
	config := testConfig(t)
	if err := Probe(t.Context(), config); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("before it is served: %v, want an error that says so", err)
	}
	s := serve(t, config, script{})
	if err := Probe(t.Context(), config); err != nil {
		t.Errorf("while it is served: %v", err)
	}
	other := config
	other.Instance = "new"
	if err := Probe(t.Context(), other); err == nil {
		t.Error("an instance that is not served answers")
	}
	s.stop()
	if err := <-s.ended; err != nil {
		t.Fatal(err)
	}
	if err := Probe(t.Context(), config); err == nil {
		t.Error("it answers after it has ended")
	}
}
