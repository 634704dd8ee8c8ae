// SPDX-License-Identifier: Apache-2.0

// Package kubectl tests kubectl slipway on a real control plane: how its commands end, what
// outlives them, and that kubectl drain's own command lines do the same.
package kubectl
