// SPDX-License-Identifier: Apache-2.0

// Package follow watches LifecycleEvents and their nodes until the events are over.
//
//	API server ── watch: event, node, its pods ──▶ story ──▶ screen
//
// It only watches: what happens goes on without it.
package follow
