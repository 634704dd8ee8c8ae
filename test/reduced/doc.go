// SPDX-License-Identifier: Apache-2.0

// Package reduced tests the variant for servers without constrained impersonation: Kubernetes 1.34 and 1.35, or a newer
// version with the feature disabled.
package reduced
