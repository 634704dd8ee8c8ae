// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/test/chaos/plan"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// Each change has to pass so many drains, with the plan of this seed: a change that fails
// where the one before passed has to look at itself first. make chaos takes a fresh seed.
const (
	drains     = 30
	seedOfTest = 1896519177
)

// TestChaos does what the plan of a seed says, and begins nothing any more when a round has
// gone wrong: what is left of it is in the way.
func TestChaos(t *testing.T) {
	seed := number(t, "SLIPWAY_CHAOS_SEED", seedOfTest)
	p := plan.New(uint64(seed), number(t, "SLIPWAY_CHAOS_DRAINS", drains))
	t.Logf("to make this run again: make chaos SEED=%d DRAINS=%d\n%s", p.Seed, p.Drains, p)
	harness.Record(t, fmt.Sprintf("seed %d: %d drains in %d rounds", p.Seed, p.Drains, len(p.Rounds)))
	s := newStage(t, p)
	for i, round := range p.Rounds {
		began := time.Now()
		s.enter(round.Central)
		if !t.Run(fmt.Sprintf("round %d", i+1), func(t *testing.T) { s.play(t, round) }) {
			t.Fatalf("round %d of %d has failed; to make this run again: make chaos SEED=%d DRAINS=%d", i+1, len(p.Rounds), p.Seed, p.Drains)
		}
		t.Logf("round %d of %d took %s", i+1, len(p.Rounds), time.Since(began).Round(time.Second))
	}
	s.leave()
	s.check()
}

func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s=%s: must be a number, 0 or more", variable, text)
	}
	return n
}
