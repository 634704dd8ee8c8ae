// SPDX-License-Identifier: Apache-2.0

// Package install tests that what people apply is good: that the API server accepts every
// manifest, and finds nothing wrong with the expressions of the policies.
package install
