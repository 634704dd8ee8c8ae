// SPDX-License-Identifier: Apache-2.0

// Package component describes the programs of a control plane: the arguments of each, their
// order, their health checks, certificates and kubeconfigs. It starts nothing.
//
//	Settings ─▶ Build ─▶ Component{name, arguments, health}
package component
