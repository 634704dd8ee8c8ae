// SPDX-License-Identifier: Apache-2.0

// Package cluster brings a local cluster up and down.
//
//	Up      directory, identities ─▶ etcd ─▶ kube-apiserver ─▶ the others ─▶ nodes ready
//	Status  state file, processes, health ─▶ Facts
//	Down    processes of pods ─▶ components ─▶ strays ─▶ files
//
// Everything about a cluster is in its directory: each call starts from the state file there,
// whichever process wrote it.
package cluster
