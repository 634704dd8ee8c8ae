// SPDX-License-Identifier: Apache-2.0

// Package podrun runs a process on this machine in place of a simulated pod's container: the
// process gets the token that the kubelet would mount, bound to the pod and its node, and it
// ends when the pod is deleted.
//
//	AwaitBound ─▶ token, files ─▶ the command ─▶ again, as with restartPolicy Always
//	                  └── renewed at four fifths of the token's life
//
// It does not mount volumes, apply limits or report a status: kwok reports that the pod runs,
// whatever the process does.
package podrun
