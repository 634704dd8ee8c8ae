// SPDX-License-Identifier: Apache-2.0

// Package state is a cluster's memory between two runs of the launcher: a JSON file in the
// cluster's directory with the configuration and the processes of the cluster. The file also
// marks the directory as a cluster's: the launcher never empties another one.
package state
