// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// What becomes of a pod, for kubectl drain --ignore-daemonsets and for us.
const (
	leaves = "leaves"
	stays  = "stays"
	barred = "is refused"
)

// fate is what becomes of a pod, and why. Neither side says why a pod leaves.
type fate struct{ what, why string }

const (
	ofDaemonSet   = "pod of a DaemonSet"
	ofMirror      = "mirror pod"
	ofAnotherNode = "pod of another node"
)

// kubectlFlags are those that decide about pods.
type kubectlFlags struct{ force, deleteEmptyDirData bool }

var allKubectlFlags = []kubectlFlags{{false, false}, {false, true}, {true, false}, {true, true}}

// request asks for what the flags ask for.
func (k kubectlFlags) request() Request {
	return Request{NodeName: "w1", RefuseUnmanaged: !k.force, RefuseLocalStorage: !k.deleteEmptyDirData}
}

// TestOurVerdictsAreThoseOfKubectl makes up nodes full of pods, and compares our verdict on each pod with that of kubectl's
// own library, for all flags. Where we mean to differ, deviate says what we do instead.
func TestOurVerdictsAreThoseOfKubectl(t *testing.T) {
	seen := map[fate]int{}
	rapid.Check(t, func(t *rapid.T) {
		pods := rapid.Custom(drawPods).Draw(t, "pods")
		for _, flags := range allKubectlFlags {
			theirs, ours := kubectlFates(t, pods, flags), ourFates(t, pods, flags.request())
			for _, pod := range pods {
				want, got := deviate(pod, theirs[pod.Name]), ours[pod.Name]
				if diff := cmp.Diff(want, got, cmp.AllowUnexported(fate{})); diff != "" {
					t.Fatalf("%+v: (-kubectl +ours):\n%s\nthe pod: %s", flags, diff, inWords(pod))
				}
				seen[counted(pod, theirs[pod.Name])]++
			}
		}
	})
	wanted := []fate{
		{stays, ofDaemonSet},
		{stays, ofMirror},
		{stays, ofAnotherNode},
		{barred, string(UnmanagedPod)},
		{barred, string(LocalStorage)},
		{leaves, "managed pod"},
		{leaves, "unmanaged pod"},
		{leaves, "pod with local storage"},
		{leaves, "terminating pod"},
		{leaves, "finished pod"},
		{leaves, "finished pod of a DaemonSet"},
		{leaves, "finished pod with local storage"},
		{leaves, "pod of another kind of DaemonSet"},
		{leaves, "deviation: orphan"},
		{barred, "deviation: orphan"},
		{barred, "deviation: terminating"},
	}
	for _, f := range slices.Concat(wanted, slices.Collect(maps.Keys(seen))) {
		if seen[f] < 5 {
			t.Errorf("%d times only: a %s %s", seen[f], f.why, f.what)
		}
		if !slices.Contains(wanted, f) {
			t.Errorf("not foreseen: a %s %s", f.why, f.what)
		}
	}
	t.Logf("%v", seen)
}

// ourFates says what we do with the pods. That one refused pod holds all is checked on the way, as it is for kubectl.
func ourFates(t rapid.TB, pods []*corev1.Pod, request Request) map[string]fate {
	f := calm()
	f.request, f.pods = request, pods
	fates := map[string]fate{}
	for _, pod := range pods {
		switch {
		case len(scope("w1", []*corev1.Pod{pod})) == 0:
			fates[pod.Name] = fate{stays, ofAnotherNode}
		case hasDaemonSet(pod) && !isFinished(pod): // kubectl asks this before it asks for mirrors
			fates[pod.Name] = fate{stays, ofDaemonSet}
		default:
			fates[pod.Name] = fate{stays, ofMirror}
		}
	}
	leaving, _ := filter(scope("w1", pods), f)
	no := 0
	for _, l := range leaving {
		fates[l.pod.Name] = fate{what: leaves}
		if o := refusal(l.pod, request); o != nil {
			fates[l.pod.Name] = fate{barred, string(o.reason)}
			no++
		}
	}
	if sent := decide(f).evict; no > 0 && len(sent) > 0 {
		t.Errorf("%d pods are refused, and yet %d evictions are sent", no, len(sent))
	}
	return fates
}

func inWords(pod *corev1.Pod) string {
	words, err := json.MarshalIndent(pod, "", "  ")
	return fmt.Sprint(string(words), err)
}
