// SPDX-License-Identifier: Apache-2.0

// Package contender has those who drain, all behind one interface.
//
//	Kubectl   the cluster's own kubectl, as an administrator would call it
//	Ideal     the evictor of package ideal, with an administrator's rights
//	Slipway   one LifecycleEvent a node; the agents have the tokens of their own pods
package contender
