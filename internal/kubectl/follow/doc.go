// SPDX-License-Identifier: Apache-2.0

// Package follow watches LifecycleEvents and their nodes until the events are over.
//
//	API server ── one watch a kind ──▶ Eyes ──▶ story ──▶ Screen
//
// It only watches: what happens goes on without it. It asks for nothing twice, but where a
// watch that was cut has missed something.
package follow
