// SPDX-License-Identifier: Apache-2.0

// Package rules tests on a real control plane what may be said about drains, in
// DrainRules and in DrainParameters, and that it is heard.
package rules
