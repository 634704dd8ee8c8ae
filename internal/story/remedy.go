// SPDX-License-Identifier: Apache-2.0

package story

import lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"

// flags let pods go that a drain refuses to evict, by the reason of the blocker.
var flags = map[string]string{"UnmanagedPod": "--force", "LocalStorage": "--delete-emptydir-data"}

// Refuses says that the drain was asked not to evict the pod: it waits until somebody
// removes it.
func Refuses(b lifecyclev1alpha1.Blocker) bool { return flags[b.Reason] != "" }

// Remedy is what would help against a blocker.
func Remedy(b lifecyclev1alpha1.Blocker) string {
	switch b.Reason {
	case "UnmanagedPod":
		return "it has no controller that would start it again; " + flags[b.Reason] + " lets it go all the same"
	case "LocalStorage":
		return "what is in its emptyDir volume would be lost; " + flags[b.Reason] + " lets it go all the same"
	default:
		return b.Message
	}
}

// helps is the remedy after a separator, or nothing.
func helps(b lifecyclev1alpha1.Blocker, separator string) string {
	if text := Remedy(b); text != "" {
		return separator + text
	}
	return ""
}
