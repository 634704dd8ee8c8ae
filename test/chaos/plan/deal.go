// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math/rand/v2"
	"time"
)

// New returns the plan of a seed with this number of drains, which includes drains of maintenances and canceled
// drains.
func New(seed uint64, drains int) Plan {
	rng := rand.New(rand.NewPCG(seed, 0))
	p := Plan{Seed: seed, Drains: drains}
	for left := drains; left > 0; {
		r := Round{}
		out := rng.Perm(Nodes)[:min(left, 2+rng.IntN(Out-1))]
		left -= len(out)
		r.Jobs = ask(rng, out)
		p.Rounds = append(p.Rounds, r)
	}
	// The mode changes once: it takes other processes.
	for i := range p.Rounds {
		p.Rounds[i].Central = i >= (len(p.Rounds)*2+2)/3
	}
	p.dealManners(rng)
	p.dealFaults(rng)
	return p
}

// ask chooses the requests that take the nodes out of service, and an eviction of the pods of another node.
func ask(rng *rand.Rand, out []int) (jobs []Job) {
	others := without(out)
	if len(out) > 1 && rng.IntN(2) == 0 {
		n := 2 + rng.IntN(len(out)-1)
		jobs = append(jobs, Job{What: Maintain, Nodes: out[:n]})
		out = out[n:]
	}
	for _, node := range out {
		what := Drain
		if rng.IntN(5) == 0 {
			what = Cancel
		}
		jobs = append(jobs, Job{What: what, Nodes: []int{node}})
	}
	if rng.IntN(2) == 0 {
		jobs = append(jobs, Job{What: Evict, Nodes: []int{others[rng.IntN(len(others))]}})
	}
	if rng.IntN(2) == 0 {
		jobs = append(jobs, Job{What: Claim, Nodes: []int{others[rng.IntN(len(others))]}})
	}
	return jobs
}

// without are the nodes that are not among the given ones.
func without(out []int) (others []int) {
	taken := map[int]bool{}
	for _, node := range out {
		taken[node] = true
	}
	for node := range Nodes {
		if !taken[node] {
			others = append(others, node)
		}
	}
	return others
}

// deck deals all of its cards before it deals one again.
type deck[T any] struct {
	rng   *rand.Rand
	cards []T
	left  []T
}

func (d *deck[T]) deal() T {
	if len(d.left) == 0 {
		d.left = append(d.left, d.cards...)
		d.rng.Shuffle(len(d.left), func(i, k int) { d.left[i], d.left[k] = d.left[k], d.left[i] })
	}
	card := d.left[0]
	d.left = d.left[1:]
	return card
}

// dealManners adds a driver of the test to each round, a central one if the round has no agents.
func (p *Plan) dealManners(rng *rand.Rand) {
	manners := deck[Manner]{rng: rng, cards: []Manner{Slow, Broken, Lying, Doubled, Garbled, Central}}
	for i := range p.Rounds {
		job := Job{What: Drive, Nodes: []int{rng.IntN(Nodes)}, Manner: Central}
		if !p.Rounds[i].Central {
			job.Manner = manners.deal()
		}
		p.Rounds[i].Jobs = append(p.Rounds[i].Jobs, job)
	}
}

// faultsPerRound is the number of faults in a round.
const faultsPerRound = 3

func (p *Plan) dealFaults(rng *rand.Rand) {
	kinds := deck[Kind]{rng: rng, cards: Kinds}
	for i := range p.Rounds {
		r := &p.Rounds[i]
		for range faultsPerRound {
			r.Faults = append(r.Faults, r.fault(rng, kinds.deal()))
		}
	}
}

// fault is one of that kind.
func (r *Round) fault(rng *rand.Rand, kind Kind) Fault {
	f := Fault{Kind: kind, Process: -1, After: r.moment(rng)}
	switch kind {
	case Restart, Pause:
	default:
		f.Process = r.victim(rng, kind)
	}
	switch kind {
	case Freeze, Cut, Hang, Pause:
		f.For = time.Second + time.Duration(rng.IntN(3000))*time.Millisecond
		if kind == Freeze && f.Process > Controllers && rng.IntN(2) == 0 {
			f.For += leaseOfLeader // and the other controller leads when it continues
		}
	case Jump:
		// Kubernetes' server refuses times that differ from its own by 30 s. A process whose clock is set back acts
		// later by as much, which must be less than each test waits.
		f.By = time.Duration(31+rng.IntN(90)) * time.Second
		if rng.IntN(2) == 0 {
			f.By = -f.By
		}
	case Kill, Expire, Restart:
	}
	return f
}

// leaseOfLeader is the time for which a controller stays the leader without a renewal.
const leaseOfLeader = 15 * time.Second

// victim is a controller, or the agent of a node that is taken out.
func (r *Round) victim(rng *rand.Rand, kind Kind) int {
	var agents []int
	for _, node := range r.out() {
		if !r.Central && (kind != Kill || node != Eldest) {
			agents = append(agents, node)
		}
	}
	if len(agents) == 0 || rng.IntN(3) == 0 {
		if kind == Kill {
			return Controllers + 1
		}
		return Controllers + rng.IntN(2)
	}
	return agents[rng.IntN(len(agents))]
}

// out are the nodes that the round takes out.
func (r *Round) out() (nodes []int) {
	for _, j := range r.Jobs {
		switch j.What {
		case Drain, Cancel, Maintain:
			nodes = append(nodes, j.Nodes...)
		case Evict, Drive, Claim:
		}
	}
	return nodes
}

// PodsOfANode is the number of pods of each node that can be evicted when a round begins.
const PodsOfANode = 3

// moment is one that comes, whatever goes wrong.
func (r *Round) moment(rng *rand.Rand) Moment {
	events, pods := 0, 0
	for _, j := range r.Jobs {
		switch j.What {
		case Drain, Maintain:
			events += len(j.Nodes)
			pods += len(j.Nodes) * PodsOfANode
		case Cancel, Drive, Claim:
			events += len(j.Nodes)
		case Evict:
			pods += len(j.Nodes) * PodsOfANode
		}
	}
	switch n := rng.IntN(6); {
	case n < 2 || pods == 0 && n < 5:
		return Moment{Seen: Claimed, Count: 1 + rng.IntN(events)}
	case n < 5:
		return Moment{Seen: Evicted, Count: 1 + rng.IntN(pods)}
	default:
		return Moment{Seen: Ended, Count: 1 + rng.IntN(events)}
	}
}
