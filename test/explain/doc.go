// SPDX-License-Identifier: Apache-2.0

// Package explain tests on a real control plane that kubectl slipway explain names what
// holds a drain up, for each reason of package drain, and that what it proposes helps: the
// commands are run as they are printed.
package explain
