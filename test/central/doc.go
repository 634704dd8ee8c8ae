// SPDX-License-Identifier: Apache-2.0

// Package central tests the controller on a real control plane: what it does for nodes
// without agents, the guards, and central mode with leaders that die.
package central
