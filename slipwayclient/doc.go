// SPDX-License-Identifier: Apache-2.0

// Package slipwayclient takes a node out of service and returns it, for programs such as upgraders
// and autoscalers.
//
//	Drain, Return ──▶ LifecycleEvent ── Run: Request, then Follow ──▶ its end, or an [EndedError]
//
// # Usage
//
//	slipway, err := slipwayclient.New(ctx, config)
//	if err != nil {
//		return err
//	}
//	if _, err := slipway.Run(ctx, slipwayclient.Drain("worker-1", "kernel 6.18")); err != nil {
//		return err
//	}
//	upgrade("worker-1")
//	_, err = slipway.Run(ctx, slipwayclient.Return("worker-1", "kernel 6.18"))
//	return err
//
// The drain continues in the cluster when the program ends: the server works, not this package. A
// program that starts again requests the same event, and finds the one that it has created before.
//
// The caller needs the ClusterRole slipway-operator. A caller that may also get nodes learns the outcome
// of an event that was deleted while the API server did not answer.
//
// The package imports only the API of Slipway. It neither cordons nor evicts.
package slipwayclient
