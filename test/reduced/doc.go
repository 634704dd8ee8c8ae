// SPDX-License-Identifier: Apache-2.0

// Package reduced tests the variant for servers that know no constrained impersonation,
// on one on which it is off: Kubernetes 1.34 and 1.35 as far as the agent can tell.
package reduced
