// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// Annotation lists the static pods that must leave the Node, and for which events. Drains write it, and it ends with
	// their cordons.
	Annotation = "slipway.dev/static-pods"
	// HostAnnotation has the report of slipway-host.
	HostAnnotation = "slipway.dev/static-pods-host"
)

// Wish is the wish of one event. The annotation is a list of wishes.
type Wish struct {
	Event string    `json:"event"`
	UID   types.UID `json:"uid"`
	// Pods are namespace/name of the mirror pods, sorted.
	Pods []string `json:"pods"`
}

// WishesOn reads the wishes from a Node. The error is about an unreadable annotation.
func WishesOn(node *corev1.Node) ([]Wish, error) {
	text := node.Annotations[Annotation]
	if text == "" {
		return nil, nil
	}
	var wishes []Wish
	if err := json.Unmarshal([]byte(text), &wishes); err != nil {
		return nil, fmt.Errorf("read annotation %s of node %s: %w", Annotation, node.Name, err)
	}
	return wishes, nil
}

// Text returns the value of the annotation; empty without wishes.
func Text(wishes []Wish) (string, error) {
	if len(wishes) == 0 {
		return "", nil
	}
	return encoded(Annotation, wishes)
}

func encoded(annotation string, value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode annotation %s: %w", annotation, err)
	}
	return string(text), nil
}

// With adds a wish to the earlier wishes of the same event: the event no longer sees pods that have left.
func With(wishes []Wish, more Wish) []Wish {
	wishes = slices.Clone(wishes)
	i := slices.IndexFunc(wishes, func(w Wish) bool { return w.UID == more.UID })
	if i < 0 {
		more.Pods = union(more.Pods)
		return append(wishes, more)
	}
	wishes[i].Pods = union(wishes[i].Pods, more.Pods)
	return wishes
}

// Without drops the wish of an event.
func Without(wishes []Wish, uid types.UID) []Wish {
	return slices.DeleteFunc(slices.Clone(wishes), func(w Wish) bool { return w.UID == uid })
}

// Wanted returns the pods of all wishes, sorted.
func Wanted(wishes []Wish) []string {
	var all []string
	for _, w := range wishes {
		all = append(all, w.Pods...)
	}
	return union(all)
}

func union(lists ...[]string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(lists...))))
}

// Report is the value of [HostAnnotation].
type Report struct {
	// ControlPlane means that slipway-host may also move manifests of the control plane.
	ControlPlane bool `json:"controlPlane,omitempty"`
	// Away are the pods whose manifests were moved away, as in [Wish]. They may still be terminating.
	Away []string `json:"away,omitempty"`
	// Trouble are unfulfilled wishes, sorted; at most [maxTrouble].
	Trouble []Trouble `json:"trouble,omitempty"`
}

// maxTrouble limits the trouble in a report.
const maxTrouble = 20

// Trouble is an unfulfilled wish.
type Trouble struct {
	// Pod as in [Wish]; the file, if its pod is unknown; empty for all pods.
	Pod string `json:"pod,omitempty"`
	// Message names the cause and the remedy.
	Message string `json:"message"`
}

// Text returns the value of the annotation.
func (r Report) Text() (string, error) { return encoded(HostAnnotation, r) }

// ReportedOn reads the report from a Node; nil without a readable report.
func ReportedOn(node *corev1.Node) *Report {
	var r Report
	if node == nil || json.Unmarshal([]byte(node.Annotations[HostAnnotation]), &r) != nil {
		return nil
	}
	return &r
}

// Expectation is the future of a static pod, as a drain can expect it.
type Expectation struct {
	// Left is the reason for which the pod stays, so that the drain does not wait for it; empty if it must leave.
	Left string
	// Able means that slipway-host moves the manifest if the Node wishes so.
	Able bool
	// Trouble is the reason for which the pod stays although it must leave.
	Trouble string
}

// Expect returns the expectation about a static pod according to the Node.
func Expect(node *corev1.Node, pod *corev1.Pod) Expectation {
	report := ReportedOn(node)
	switch {
	case IsControlPlane(pod.Name, pod.Labels) && (report == nil || !report.ControlPlane):
		return Expectation{Left: "slipway-host moves manifests of the control plane only with --control-plane-static-pods"}
	case report == nil:
		return Expectation{Trouble: "no slipway-host on the machine moves manifests of static pods"}
	}
	e := Expectation{Able: true}
	for _, t := range report.Trouble {
		if e.Trouble == "" && (t.Pod == "" || t.Pod == KeyOf(pod)) {
			e.Trouble = t.Message
		}
	}
	return e
}

// KeyOf returns the name of a mirror pod in wishes and reports.
func KeyOf(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

// components are the parts of a control plane that run in static pods.
var components = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "cloud-controller-manager", "kube-vip",
}

// IsControlPlane reports from the name and labels of a static pod whether it is part of the control plane, in any
// namespace. kubeadm labels the parts "tier: control-plane" and "component", other installers "k8s-app" (kOps) or
// "app" (OpenShift). Without labels, the name decides, also the name of a mirror pod, which ends with the node's name.
// Further static pods of a control plane, such as the keeper of its address, need the label "tier: control-plane".
func IsControlPlane(name string, labels map[string]string) bool {
	if labels["tier"] == "control-plane" || isPart(name) {
		return true
	}
	return slices.ContainsFunc([]string{"component", "k8s-app", "app"}, func(key string) bool { return isPart(labels[key]) })
}

// isPart reports whether a name is the name of a component, or begins with it, such as etcd-manager-main.
func isPart(name string) bool {
	name = strings.TrimPrefix(name, "openshift-")
	return slices.ContainsFunc(components, func(c string) bool { return name == c || strings.HasPrefix(name, c+"-") })
}
