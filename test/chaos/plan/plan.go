// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Nodes is how many nodes a run has. Of these, at most [Out] are taken out in a round: the
// pods need somewhere to go.
const (
	Nodes = 6
	Out   = 3
)

// Eldest is the node whose agent is never killed, so that what leaks in it has the whole run
// to do so.
const Eldest = 0

// Plan is what a run does.
type Plan struct {
	Seed   uint64
	Drains int
	Rounds []Round
}

// Round is what goes on at the same time. The next one begins when its jobs have ended and
// its faults are over.
type Round struct {
	// Central is that the controllers claim events. Else the nodes' agents do.
	Central bool
	Jobs    []Job
	Faults  []Fault
}

// Shares says whether another job of the round is about a node of this one.
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

// What is asked for.
type What string

// The kinds of jobs.
const (
	// Drain is a LifecycleEvent that drains a node, and one that returns it.
	Drain What = "drain"
	// Cancel is a drain that is called off when it has been claimed.
	Cancel What = "cancel"
	// Maintain is a NodeMaintenance of all nodes of the job.
	Maintain What = "maintain"
	// Evict is an EvictionRequest for each pod of a node.
	Evict What = "evict"
	// Drive is a LifecycleEvent for a driver that does not behave.
	Drive What = "drive"
)

// Manner is how a driver of the test's own behaves.
type Manner string

// The manners of drivers.
const (
	// Slow answers late.
	Slow Manner = "slow"
	// Broken breaks off its first answers.
	Broken Manner = "broken"
	// Lying says at once that it is done, and has done nothing.
	Lying Manner = "lying"
	// Doubled is registered twice.
	Doubled Manner = "doubled"
	// Garbled answers its first callers with what is no gRPC.
	Garbled Manner = "garbled"
)

// Job is something that is asked for. Each ends well, whatever goes wrong around it.
type Job struct {
	What  What
	Nodes []int
	// Manner is that of the driver of [Drive].
	Manner Manner
}

// Kind of a fault.
type Kind string

// The kinds of faults.
const (
	// Kill is SIGKILL. What is killed is started again at once.
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

// Kinds are all of them.
var Kinds = []Kind{Kill, Freeze, Cut, Hang, Expire, Jump, Restart, Pause}

// Seen is what is counted from the beginning of a round.
type Seen string

// What is counted.
const (
	Claimed Seen = "claimed" // events of nodes
	Evicted Seen = "evicted" // pods that were there when the round began
	Ended   Seen = "ended"   // events of nodes
)

// Moment is when something has been seen so often.
type Moment struct {
	Seen  Seen
	Count int
}

// Fault is something that goes wrong.
type Fault struct {
	Kind Kind
	// Process is whom it befalls: [Controllers] or less is the agent of a node, by its number;
	// what follows is a controller. The control plane's faults have none: -1.
	Process int
	After   Moment
	// For is how long it lasts.
	For time.Duration
	// By is how far the clock is off after a [Jump].
	By time.Duration
}

// Controllers is the number of the first controller's process; there are two. The first one
// is never killed, nor does it stand still for longer than it may lead.
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
