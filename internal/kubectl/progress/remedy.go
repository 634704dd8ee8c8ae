// SPDX-License-Identifier: Apache-2.0

package progress

import lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"

// flags let pods go that a drain refuses to evict, by the reason of the blocker.
var flags = map[string]string{"UnmanagedPod": "--force", "LocalStorage": "--delete-emptydir-data"}

// Refuses says that the drain was asked not to evict the pod: it waits until somebody
// removes it.
func Refuses(b lifecyclev1alpha1.Blocker) bool { return flags[b.Reason] != "" }

// losses are why such a drain is asked not to evict a pod.
var losses = map[string]string{
	"UnmanagedPod": "it has no controller that would start it again",
	"LocalStorage": "what is in its emptyDir volume would be lost",
}

// Remedy is what would help against a blocker of an event that is there. Its parameters stay
// as they were asked for.
func Remedy(b lifecyclev1alpha1.Blocker) string {
	if Refuses(b) {
		return losses[b.Reason] + "; to let it go all the same, cancel this drain and ask for one with " + flags[b.Reason]
	}
	return b.Message
}

// Flag is the same before there is an event, or when it is withdrawn.
func Flag(b lifecyclev1alpha1.Blocker) string {
	if Refuses(b) {
		return losses[b.Reason] + "; " + flags[b.Reason] + " lets it go all the same"
	}
	return b.Message
}

// helps is the remedy after a separator, or nothing.
func helps(b lifecyclev1alpha1.Blocker, separator string) string {
	if text := Remedy(b); text != "" {
		return separator + text
	}
	return ""
}
