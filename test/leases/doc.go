// SPDX-License-Identifier: Apache-2.0

// Package leases has the tests of node leases on a real control plane: drains wait for other
// holders, the lease is held from before the cordon until after the return, controllers are
// killed in between, and what is refused is refused. The tests play the other holders.
package leases
