// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
	drainparameters "github.com/slipway-k8s/slipway/internal/drainer/parameters"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
)

// Facts are the input of a prediction.
type Facts struct {
	Now time.Time
	// Drains are the nodes that are drained together, with all that a drain looks at.
	Drains drain.Snapshot
	// Nodes and Pods are all nodes and pods of the cluster. Without Nodes, the plan has no
	// replacements.
	Nodes []*corev1.Node
	Pods  []*corev1.Pod
	// Stock is the result of [NewStock], for many plans of one cluster. If it is nil, Plan computes
	// it.
	Stock *Stock
	// Namespaces are the labels of all namespaces.
	Namespaces map[string]labels.Set
	// Claims and Volumes belong to the pods that may leave.
	Claims  map[types.NamespacedName]*corev1.PersistentVolumeClaim
	Volumes map[string]*corev1.PersistentVolume
	// Unread names failed reads, with the effect on the plan.
	Unread []string
}

// Plan predicts the drains. It fails if their request is invalid.
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

// learn adds the pods without a node for their replacement, and reports whether there are new ones.
// Each pass adds pods, so the passes end.
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
		Namespace: o.Pod.Namespace, Name: o.Pod.Name, Verdict: o.Verdict, Step: o.Step, Round: o.Round,
		Exemption: o.Exemption, Reason: o.Reason, By: o.By, Message: o.Message,
		LostVolumes: o.LocalStorage, Unmanaged: o.Unmanaged, Replacement: r,
	}
	if kind, name := state.WorkloadOf(o.Pod); kind != "" {
		p.Owner = kind + " " + p.Namespace + "/" + name
	}
	if o.After > 0 {
		p.After = o.After.String()
	}
	return p
}
