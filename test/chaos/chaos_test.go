// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/test/chaos/plan"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// drains is how many each change has to pass.
const drains = 30

// TestChaos does what the plan of a seed says, and begins nothing any more when a round has
// gone wrong: what is left of it is in the way.
func TestChaos(t *testing.T) {
	seed := uint64(number(t, "SLIPWAY_CHAOS_SEED", int(rand.Uint32())))
	p := plan.New(seed, number(t, "SLIPWAY_CHAOS_DRAINS", drains))
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
