// SPDX-License-Identifier: Apache-2.0

// Package faultpoint gives names to the moments between steps, so that tests can
// stop a process there and kill it.
//
//	agent, drain driver ── Reach("claimed") ──▶ nothing; in a test: says so, and stops
//	test ── SIGCONT ──▶ goes on, and stops no more
//
// A binary that is built with the tag "faultpoints" stops at the point that the
// environment variable SLIPWAY_FAULTPOINT names. In any other binary Reach does
// nothing at all.
//
// On linux/amd64, the clock of such a binary can jump: it is off by as many seconds as the
// file says that SLIPWAY_CLOCK names, 8 bytes, little endian. Timers do not heed that, as on
// a machine whose clock is set.
package faultpoint

// The fault points, in the order of the walk.
const (
	Claimed          = "claimed"           // the claim is written
	FinalizerSet     = "finalizer-set"     // the finalizer is written
	StartCalled      = "start-called"      // the driver has answered Start
	ConditionPatched = "condition-patched" // the Node has a condition for the state
	Evicting         = "evicting"          // the first eviction was accepted
	EndAnswered      = "end-answered"      // the driver has answered End with the end state
	TerminalWritten  = "terminal-written"  // the terminal phase is written
	Deleted          = "deleted"           // the event is deleted
)

// Those of the evictionrequest-controller.
const (
	EvictionCreated = "eviction-created" // an Eviction was created
	EvictionAdopted = "eviction-adopted" // its labels and owners are written
	EvictionWritten = "eviction-written" // its status is written
	RequestWritten  = "request-written"  // a requester was told
)

// Those of who asks for the evictions of the pods that drains leave to responders.
const (
	PodRequested     = "pod-requested"     // an EvictionRequest was created
	RequestWithdrawn = "request-withdrawn" // it says that the eviction is not wanted any more
	RequestDeleted   = "request-deleted"   // it was deleted
)

// Those of who holds the leases of nodes.
const (
	LeaseTaken       = "lease-taken"        // the lease of a node is ours, or is renewed
	LeaseGateRemoved = "lease-gate-removed" // an event was let pass
	LeaseReleased    = "lease-released"     // the lease was given back
)

// Those of the surge responder.
const (
	SurgeReleased  = "surge-released"   // a pod was released from its ReplicaSet
	SurgeReplaced  = "surge-replaced"   // a turn is over, which the Eviction does not say yet
	SurgeGivenBack = "surge-given-back" // a pod was given back
	SurgeForgotten = "surge-forgotten"  // our marks were taken from it
)

// Those of maintenances of many nodes.
const (
	MaintenanceEventCreated  = "maintenance-event-created"  // the event of a node's drain was created
	MaintenanceTargetsRaised = "maintenance-targets-raised" // that says how far its drain goes now
	MaintenanceJobCreated    = "maintenance-job-created"    // the Job of a node was created
	MaintenanceRecorded      = "maintenance-recorded"       // a Node says that a maintenance is done with it
	MaintenanceHoldDropped   = "maintenance-hold-dropped"   // the drain of a node may end
	MaintenanceReturnCreated = "maintenance-return-created" // the event of its return was created
	MaintenanceKeptAway      = "maintenance-kept-away"      // a Node says which pods of DaemonSets it keeps away
	MaintenanceLetBack       = "maintenance-let-back"       // it says so no more, and they have not been let go
	MaintenanceEventReleased = "maintenance-event-released" // our finalizer was removed from an event
)

// Those of shutdowns.
const (
	ShutdownAnnounced    = "shutdown-announced"     // a Node says that its machine is being shut down
	ShutdownEventCreated = "shutdown-event-created" // the event of its drain was created
	ShutdownDrainNoted   = "shutdown-drain-noted"   // a Node says what became of the drain
	ShutdownReleased     = "shutdown-released"      // the cordon is undone, the Node still speaks of it
)

// Those of static pods.
const (
	StaticPodsWished = "static-pods-wished"  // a Node says which are to be away
	StaticPodsNoted  = "static-pods-noted"   // the journal says what is to be away
	StaticPodTaken   = "static-pod-taken"    // a manifest is away, which nobody says yet
	StaticPodPutBack = "static-pod-put-back" // one is back, which nobody says yet
)
