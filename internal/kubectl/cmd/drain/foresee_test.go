// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	enginedrain "github.com/slipway-k8s/slipway/drain"
)

func TestWhatADrainIsAboutToDoThatKubectlNames(t *testing.T) {
	pod := func(name string, reason enginedrain.Reason, unmanaged bool) enginedrain.PodOutlook {
		return enginedrain.PodOutlook{
			Pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}, Reason: reason, Unmanaged: unmanaged,
		}
	}
	unmanaged, refused := concerns(enginedrain.Outlook{Pods: []enginedrain.PodOutlook{
		pod("web", "", false), pod("bare", "", true), pod("guarded", enginedrain.BudgetImpossible, false),
		pod("kept", "UnmanagedPod", false), pod("scratch", "LocalStorage", false),
	}})
	if diff := cmp.Diff([]string{"ns/bare"}, unmanaged); diff != "" {
		t.Errorf("without a controller (-want +got):\n%s", diff)
	}
	want := "\n  Pod ns/kept: it has no controller that would start it again; --force evicts it anyway" +
		"\n  Pod ns/scratch: what is in its emptyDir volume would be lost; --delete-emptydir-data evicts it anyway"
	if diff := cmp.Diff(want, listed(refused)); diff != "" {
		t.Errorf("refused (-want +got):\n%s", diff)
	}
}
