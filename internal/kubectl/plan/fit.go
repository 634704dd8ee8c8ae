// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	schedulinghelpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	volumehelpers "k8s.io/component-helpers/storage/volume"
)

var onePod = *resource.NewQuantity(1, resource.DecimalSI)

// wishes are the requirements of a pod, computed once for all nodes.
type wishes struct {
	pod      *corev1.Pod
	requests corev1.ResourceList
	ports    []hostPort
	nodes    nodeaffinity.RequiredNodeAffinity
	volumes  []*corev1.PersistentVolume
	missing  string // a claim that does not exist
	company  company
	spread   []spread
}

func (c *cluster) wishesOf(pod *corev1.Pod) wishes {
	w := wishes{pod: pod, requests: requestsOf(pod), ports: hostPortsOf(pod), nodes: nodeaffinity.GetRequiredNodeAffinity(pod)}
	w.volumes, w.missing = c.volumesOf(pod)
	w.company = c.companyOf(pod)
	w.spread = c.spreadOf(pod, w.nodes)
	return w
}

// obstacle returns the reason that the node cannot take the pod, or nothing. The checks are the
// same as in the scheduler, in the same order.
func (r *room) obstacle(w wishes) string {
	if r.drained {
		return "drained as well"
	}
	if why := r.closed(w.pod); why != "" {
		return why
	}
	if fits, err := w.nodes.Match(r.node); err != nil || !fits {
		return "excluded by its node selector or affinity"
	}
	if slices.ContainsFunc(w.ports, r.taken) {
		return "a host port is taken"
	}
	if why := r.tooSmall(w.requests); why != "" {
		return why
	}
	if w.missing != "" {
		return w.missing
	}
	for _, v := range w.volumes {
		if volumehelpers.CheckNodeAffinity(v, r.node.Labels) != nil {
			return fmt.Sprintf("volume %s is not reachable from there", v.Name)
		}
	}
	for _, s := range w.spread {
		if why := s.obstacle(r.node); why != "" {
			return why
		}
	}
	return w.company.obstacle(r.node)
}

// closed checks the cordon and the taints.
func (r *room) closed(pod *corev1.Pod) string {
	cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
	if r.node.Spec.Unschedulable && !schedulinghelpers.TolerationsTolerateTaint(logr.Discard(), pod.Spec.Tolerations, &cordon, true) {
		return "cordoned"
	}
	if taint, found := untolerated(r.node, pod); found {
		return fmt.Sprintf("taint %s, which it does not tolerate", taint.ToString())
	}
	return ""
}

func untolerated(node *corev1.Node, pod *corev1.Pod) (corev1.Taint, bool) {
	keepsOut := func(t *corev1.Taint) bool {
		return t.Effect == corev1.TaintEffectNoSchedule || t.Effect == corev1.TaintEffectNoExecute
	}
	return schedulinghelpers.FindMatchingUntoleratedTaint(logr.Discard(), node.Spec.Taints, pod.Spec.Tolerations, keepsOut, true)
}

func (r *room) tooSmall(requests corev1.ResourceList) string {
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		want, free := requests[name], r.free[name]
		if want.IsZero() || free.Cmp(want) >= 0 {
			continue
		}
		if name == corev1.ResourcePods {
			return "as many pods as it may have"
		}
		return fmt.Sprintf("too little %s", name)
	}
	return ""
}

// hostPort is a port of a node.
type hostPort struct {
	ip       string
	protocol corev1.Protocol
	port     int32
}

// hostPortsOf returns the host ports of containers and sidecars.
func hostPortsOf(pod *corev1.Pod) []hostPort {
	var all []hostPort
	sidecars := slices.DeleteFunc(slices.Clone(pod.Spec.InitContainers), func(c corev1.Container) bool {
		return c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
	})
	for _, container := range slices.Concat(sidecars, pod.Spec.Containers) {
		for _, p := range container.Ports {
			if p.HostPort == 0 {
				continue
			}
			port := hostPort{p.HostIP, p.Protocol, p.HostPort}
			if port.protocol == "" {
				port.protocol = corev1.ProtocolTCP
			}
			if port.ip == "0.0.0.0" {
				port.ip = ""
			}
			all = append(all, port)
		}
	}
	return all
}

// taken reports whether a pod there has the port: on the same address, or one of the two on all
// addresses.
func (r *room) taken(p hostPort) bool {
	for other := range r.ports {
		if other.port == p.port && other.protocol == p.protocol && (other.ip == p.ip || other.ip == "" || p.ip == "") {
			return true
		}
	}
	return false
}

// volumesOf returns the volumes that a pod keeps. A replacement gets new ephemeral volumes, and an
// unbound claim is bound on its node.
func (c *cluster) volumesOf(pod *corev1.Pod) (volumes []*corev1.PersistentVolume, missing string) {
	if c.facts.Claims == nil || c.facts.Volumes == nil {
		return nil, ""
	}
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim == nil {
			continue
		}
		name := v.PersistentVolumeClaim.ClaimName
		claim := c.facts.Claims[types.NamespacedName{Namespace: pod.Namespace, Name: name}]
		if claim == nil {
			return nil, fmt.Sprintf("claim %s does not exist", name)
		}
		if volume := c.facts.Volumes[claim.Spec.VolumeName]; volume != nil {
			volumes = append(volumes, volume)
		}
	}
	return volumes, ""
}
