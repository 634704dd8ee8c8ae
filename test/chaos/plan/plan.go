// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Nodes is the number of nodes of a run. A round takes at most [Out] of them out of service: the pods need further
// nodes.
const (
	Nodes = 6
	Out   = 3
)

// Eldest is the node whose agent is never killed, so that what leaks in it has the whole run
// to do so.
const Eldest = 0

// Plan is the plan of a run.
type Plan struct {
	Seed   uint64
	Drains int
	Rounds []Round
}

// Round has simultaneous jobs and faults. The next round begins when its jobs have ended and its faults are over.
type Round struct {
	// Central means that the controllers claim events instead of the nodes' agents.
	Central bool
	Jobs    []Job
	Faults  []Fault
}

// Shares reports whether another job of the round is about a node of this one.
func (r Round) Shares(job Job) bool {
	for _, node := range job.Nodes {
		for _, other := range r.Jobs {
			if other.What != job.What && slices.Contains(other.Nodes, node) {
				return true
			}
		}
	}
	return false
}

// A What is the kind of a job.
type What string

// The kinds of jobs.
const (
	// Drain is a LifecycleEvent that drains a node, and one that returns it.
	Drain What = "drain"
	// Cancel is a drain that is canceled after its claim.
	Cancel What = "cancel"
	// Maintain is a NodeMaintenance of all nodes of the job.
	Maintain What = "maintain"
	// Evict is an EvictionRequest for each pod of a node.
	Evict What = "evict"
	// Claim is a LifecycleEvent that another controller claims, with the KEP's fields alone, and ends.
	Claim What = "claim"
	// Drive is a LifecycleEvent for a driver that does not behave.
	Drive What = "drive"
)

// Manner is the behavior of a driver of the test.
type Manner string

// The manners of drivers.
const (
	// Slow answers late.
	Slow Manner = "slow"
	// Broken breaks off its first answers.
	Broken Manner = "broken"
	// Lying reports success at once, and does not act.
	Lying Manner = "lying"
	// Doubled is registered twice.
	Doubled Manner = "doubled"
	// Garbled sends its first callers answers that are no gRPC.
	Garbled Manner = "garbled"
	// Central behaves, and is registered with the controllers, beside the agents' drivers.
	Central Manner = "central"
)

// Job is a request. Each ends well, in spite of all faults around it.
type Job struct {
	What  What
	Nodes []int
	// Manner is the manner of the driver of [Drive].
	Manner Manner
}

// Kind of a fault.
type Kind string

// The kinds of faults.
const (
	// Kill is SIGKILL. The test starts a killed process again at once.
	Kill Kind = "kill"
	// Freeze is SIGSTOP, and SIGCONT after a while.
	Freeze Kind = "freeze"
	// Cut refuses the process its connections to the API server.
	Cut Kind = "cut"
	// Hang lets them stand, with nothing coming through for a while.
	Hang Kind = "hang"
	// Expire ends the watches of the process with 410 Gone.
	Expire Kind = "expire"
	// Jump sets the clock of the process.
	Jump Kind = "jump"
	// Restart stops the API server, and starts it again.
	Restart Kind = "restart"
	// Pause is SIGSTOP of etcd, and SIGCONT after a while.
	Pause Kind = "pause"
)

// Kinds has each kind.
var Kinds = []Kind{Kill, Freeze, Cut, Hang, Expire, Jump, Restart, Pause}

// Seen is counted from the beginning of a round.
type Seen string

// What is counted.
const (
	Claimed Seen = "claimed" // events of nodes
	Evicted Seen = "evicted" // pods of the beginning of the round
	Ended   Seen = "ended"   // events of nodes
)

// Moment is the moment at which something has been seen Count times.
type Moment struct {
	Seen  Seen
	Count int
}

// Fault is something that goes wrong.
type Fault struct {
	Kind Kind
	// Process is the affected process: a number below [Controllers] is the agent of a node; the following numbers are
	// controllers. Faults of the control plane have -1.
	Process int
	After   Moment
	// For is its duration.
	For time.Duration
	// By is the error of the clock after a [Jump].
	By time.Duration
}

// Controllers is the number of the first controller's process; the run has two. The first one is never killed, and
// never stops for longer than its lease.
const Controllers = Nodes

// NameOf is the name of a process.
func NameOf(process int) string {
	switch {
	case process < 0:
		return "control plane"
	case process < Controllers:
		return fmt.Sprintf("agent %d", process)
	default:
		return fmt.Sprintf("controller %d", process-Controllers)
	}
}

// String is the plan, a line for each job and each fault.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %d drains, %d rounds\n", p.Seed, p.Drains, len(p.Rounds))
	for i, r := range p.Rounds {
		mode := "agents claim"
		if r.Central {
			mode = "controllers claim"
		}
		fmt.Fprintf(&b, "round %d, %s\n", i+1, mode)
		for _, j := range r.Jobs {
			fmt.Fprintf(&b, "  %s\n", j)
		}
		for _, f := range r.Faults {
			fmt.Fprintf(&b, "  ! %s\n", f)
		}
	}
	return b.String()
}

func (j Job) String() string {
	text := fmt.Sprintf("%s %v", j.What, j.Nodes)
	if j.Manner != "" {
		text += fmt.Sprintf(", %s", j.Manner)
	}
	return text
}

func (f Fault) String() string {
	text := fmt.Sprintf("%s %s when %d %s", f.Kind, NameOf(f.Process), f.After.Count, f.After.Seen)
	if f.For > 0 {
		text += fmt.Sprintf(", for %s", f.For)
	}
	if f.By != 0 {
		text += fmt.Sprintf(", by %s", f.By)
	}
	return text
}
