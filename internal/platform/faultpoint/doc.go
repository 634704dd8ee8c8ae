// SPDX-License-Identifier: Apache-2.0

// Package faultpoint names the moments between steps, so that tests can stop and kill a process there.
//
//	agent, drain driver ── Reach("claimed") ──▶ nothing; in a test: prints the name, and stops
//	test ── SIGCONT ──▶ continues, and stops no more
//
// A binary with the build tag "faultpoints" stops at the point that the environment variable SLIPWAY_FAULTPOINT names.
// In any other binary, Reach does nothing.
//
// On linux/amd64, the clock of such a binary can jump: the file that SLIPWAY_CLOCK names has its error in seconds, in 8
// bytes, little endian. Timers ignore the jump, as on a machine whose clock is set.
package faultpoint

// The fault points of an event, in order.
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

// The fault points of the evictionrequest-controller.
const (
	EvictionCreated = "eviction-created" // an Eviction was created
	EvictionAdopted = "eviction-adopted" // its labels and owners are written
	EvictionWritten = "eviction-written" // its status is written
	RequestWritten  = "request-written"  // the status of a request is written
)

// The fault points of the requester for drains.
const (
	PodRequested     = "pod-requested"     // an EvictionRequest was created
	RequestWithdrawn = "request-withdrawn" // it was withdrawn
	RequestDeleted   = "request-deleted"   // it was deleted
)

// The fault points of node leases.
const (
	LeaseTaken       = "lease-taken"        // the lease of a node was acquired or renewed
	LeaseGateRemoved = "lease-gate-removed" // the gate of an event was removed
	LeaseReleased    = "lease-released"     // the lease was released
)

// The fault points of the surge responder.
const (
	SurgeReleased  = "surge-released"   // a pod was released from its ReplicaSet
	SurgeReplaced  = "surge-replaced"   // a run has completed, before the Eviction shows it
	SurgeGivenBack = "surge-given-back" // a pod was returned to its ReplicaSet
	SurgeForgotten = "surge-forgotten"  // the marks of a pod were removed
)

// The fault points of maintenances.
const (
	MaintenanceEventCreated  = "maintenance-event-created"  // the event of a node's drain was created
	MaintenanceTargetsRaised = "maintenance-targets-raised" // the targets of a drain were raised
	MaintenanceJobCreated    = "maintenance-job-created"    // the Job of a node was created
	MaintenanceRecorded      = "maintenance-recorded"       // a Node records the end of the work on it
	MaintenanceHoldDropped   = "maintenance-hold-dropped"   // the drain of a node may end
	MaintenanceReturnCreated = "maintenance-return-created" // the event of its return was created
	MaintenanceKeptAway      = "maintenance-kept-away"      // a Node keeps pods of DaemonSets away
	MaintenanceLetBack       = "maintenance-let-back"       // a Node keeps none away, and their gates still exist
	MaintenanceEventReleased = "maintenance-event-released" // the finalizer was removed from an event
)

// The fault points of shutdowns.
const (
	ShutdownAnnounced    = "shutdown-announced"     // a Node announces the shutdown of its machine
	ShutdownEventCreated = "shutdown-event-created" // the event of its drain was created
	ShutdownDrainNoted   = "shutdown-drain-noted"   // a Node records the outcome of the drain
	ShutdownReleased     = "shutdown-released"      // the cordon is undone, and the annotations still exist
)

// The fault points of static pods.
const (
	StaticPodsWished = "static-pods-wished"  // a Node has a wish
	StaticPodsNoted  = "static-pods-noted"   // the journal records the moves
	StaticPodTaken   = "static-pod-taken"    // a manifest was moved away, before the report
	StaticPodPutBack = "static-pod-put-back" // a manifest was moved back, before the report
)
