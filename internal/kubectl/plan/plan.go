// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
	drainparameters "github.com/slipway-k8s/slipway/internal/drainer/parameters"
)

// Plan predicts. An error says that what is asked for is wrong.
func Plan(f Facts) (Prediction, error) {
	snapshot := f.Drains
	snapshot.StaticPods = drainparameters.StaticPods
	snapshot.Unreplaced = maps.Clone(snapshot.Unreplaced)
	if snapshot.Unreplaced == nil {
		snapshot.Unreplaced = map[types.UID]bool{}
	}
	for {
		outlooks, err := drain.Preview(snapshot, f.Now)
		if err != nil {
			return Prediction{}, err
		}
		placed := place(f, outlooks)
		if !learn(snapshot.Unreplaced, placed) {
			return predict(f, outlooks, placed), nil
		}
	}
}

// learn notes which pods have no replacement that becomes ready, and tells whether there is
// one that was not known. A pod that is known to have none stays so: with each pass there
// are more, and so the passes end.
func learn(known map[types.UID]bool, placed map[types.UID]*Replacement) (news bool) {
	for uid, r := range placed {
		if r.Node == "" && !known[uid] {
			known[uid], news = true, true
		}
	}
	return news
}

func predict(f Facts, outlooks []drain.Outlook, placed map[types.UID]*Replacement) Prediction {
	p := Prediction{Caveats: f.Unread, NotLookedAt: notLookedAt(outlooks)}
	for _, o := range outlooks {
		n := Node{Name: o.Node, Steps: o.Steps, Pods: []Pod{}}
		for _, pod := range o.Pods {
			n.Pods = append(n.Pods, podOf(pod, placed[pod.Pod.UID]))
		}
		p.Nodes = append(p.Nodes, n)
	}
	if len(f.Nodes) > 0 {
		p.Replacements = count(placed)
	}
	return p
}

func podOf(o drain.PodOutlook, r *Replacement) Pod {
	p := Pod{
		Namespace: o.Pod.Namespace, Name: o.Pod.Name, Owner: ownerOf(o.Pod), Verdict: o.Verdict, Step: o.Step, Round: o.Round,
		Exemption: o.Exemption, Reason: o.Reason, By: o.By, Message: o.Message,
		LostVolumes: o.LocalStorage, Unmanaged: o.Unmanaged, Replacement: r,
	}
	if o.After > 0 {
		p.After = o.After.String()
	}
	return p
}

// ownerOf names the workload of a pod. A ReplicaSet of a Deployment is called after it and
// the hash of its template.
func ownerOf(pod *corev1.Pod) string {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return ""
	}
	kind, name := owner.Kind, owner.Name
	if hash := pod.Labels["pod-template-hash"]; kind == "ReplicaSet" && hash != "" {
		if deployment, of := strings.CutSuffix(name, "-"+hash); of {
			kind, name = "Deployment", deployment
		}
	}
	return kind + " " + pod.Namespace + "/" + name
}
