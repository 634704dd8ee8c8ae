// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	kubectldrain "k8s.io/kubectl/pkg/drain"
	"pgregory.net/rapid"
)

const ofOrphan = "DaemonSet not found"

// kubectlFates asks kubectl's own library what it would do with the pods, for a drain of w1.
func kubectlFates(t rapid.TB, pods []*corev1.Pod, flags kubectlFlags) map[string]fate {
	helper := &kubectldrain.Helper{
		Client: kubectlServer(pods), IgnoreAllDaemonSets: true, Force: flags.force, DeleteEmptyDirData: flags.deleteEmptyDirData,
	}
	fates := map[string]fate{}
	for _, pod := range pods {
		fates[pod.Name] = fate{stays, ofAnotherNode}
		if pod.Spec.NodeName == "w1" {
			fates[pod.Name] = fate{stays, ofMirror} // the only verdict of kubectl that comes without a word
		}
	}
	list, errs := helper.GetPodsForDeletion("w1")
	if list == nil {
		t.Fatalf("kubectl: %v", errs)
	}
	for _, pod := range list.Pods() {
		fates[pod.Name] = fate{what: leaves}
	}
	for warning := range strings.SplitSeq(list.Warnings(), "; ") {
		if strings.HasPrefix(warning, "ignoring DaemonSet-managed Pods: ") {
			spoken(fates, warning, fate{stays, ofDaemonSet})
		}
	}
	for _, err := range errs {
		spoken(fates, err.Error(), fate{barred, reasonOf(t, err)})
	}
	return fates
}

// spoken takes in a message of kubectl's: "what is the matter: default/p1, default/p2".
func spoken(fates map[string]fate, message string, f fate) {
	for name := range strings.SplitSeq(message[strings.LastIndex(message, ": ")+2:], ", ") {
		fates[strings.TrimPrefix(name, "default/")] = f
	}
}

func reasonOf(t rapid.TB, err error) string {
	for words, reason := range map[string]string{
		"cannot delete Pods with local storage":             string(LocalStorage),
		"cannot delete Pods that declare no controller":     string(UnmanagedPod),
		`cannot delete daemonsets.apps "deleted" not found`: ofOrphan,
	} {
		if strings.HasPrefix(err.Error(), words) {
			return reason
		}
	}
	t.Fatalf("kubectl says what this test does not know: %v", err)
	return ""
}

// kubectlServer answers the two questions that kubectl asks. Of the DaemonSets there is the one that is named there.
func kubectlServer(pods []*corev1.Pod) *fake.Clientset {
	client := &fake.Clientset{}
	client.AddReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		selector, list := action.(clienttesting.ListAction).GetListRestrictions().Fields, &corev1.PodList{}
		for _, pod := range pods {
			if selector.Matches(fields.Set{"spec.nodeName": pod.Spec.NodeName}) {
				list.Items = append(list.Items, *pod)
			}
		}
		return true, list, nil
	})
	client.AddReactor("get", "daemonsets", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if name := action.(clienttesting.GetAction).GetName(); name != "there" {
			return true, nil, apierrors.NewNotFound(appsv1.Resource("daemonsets"), name)
		}
		return true, &appsv1.DaemonSet{}, nil
	})
	return client
}
