// SPDX-License-Identifier: Apache-2.0

// Package plan tests that what plan says is what a drain then does.
//
//	seed ─▶ generated cluster ─┬─▶ plan.Plan ─────────────▶ foretold ──┐
//	                           └─▶ drain.Drainer ─▶ simulated API ─▶ fates ─▶ the same?
//
//	generated workloads ─▶ real control plane ─┬─▶ kubectl slipway plan ─▶ foretold ──┐
//	                                           └─▶ LifecycleEvent ─▶ audit log, status ─▶ the same?
//
// The simulated API server, scheduler, controllers and kubelets share no code with what they
// judge. They run in virtual time.
package plan
