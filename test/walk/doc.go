// SPDX-License-Identifier: Apache-2.0

// Package walk tests the main job on a real control plane: a node is drained by a
// LifecycleEvent and returned by another one, whatever happens on the way.
package walk
