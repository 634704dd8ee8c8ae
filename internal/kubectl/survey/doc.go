// SPDX-License-Identifier: Apache-2.0

// Package survey reads the facts of explain, plan and forecast, with the caller's permissions.
//
//	API server ── reads of the caller ──▶ Facts, with the kinds that could not be read
//
// A missing permission is no failure: the facts name the kind and the reason. The package
// writes nothing, decides nothing and keeps nothing.
package survey
