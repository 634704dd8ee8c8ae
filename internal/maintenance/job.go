// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Annotations say what a Job is for, and environment variables say so to its containers.
const (
	annotationNode        = slipwayv1alpha1.WorkNodeLabel
	annotationMaintenance = "slipway.dev/maintenance-uid"
	annotationName        = "slipway.dev/maintenance-name"
	annotationRetry       = "slipway.dev/maintenance-retry"

	envNode        = "SLIPWAY_NODE"
	envMaintenance = "SLIPWAY_MAINTENANCE"
)

// finishedAs returns the condition in which a Job has ended; nil, if it has not.
func finishedAs(j *batchv1.Job) *batchv1.JobCondition {
	return jobCondition(j, batchv1.JobComplete, batchv1.JobFailed)
}

// jobCondition returns the first condition of these types that is True.
func jobCondition(j *batchv1.Job, types ...batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range j.Status.Conditions {
		c := &j.Status.Conditions[i]
		if slices.Contains(types, c.Type) && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// jobOn returns the name of a Job that is at work on the node, whichever maintenance it is for: two
// at a time would disturb each other. Empty: there is none.
func (v *view) jobOn(n *node) (name string) {
	for _, j := range v.facts.Jobs {
		if j.Annotations[annotationNode] == n.name && finishedAs(j) == nil && (name == "" || j.Name < name) {
			name = j.Name
		}
	}
	return name
}

// byJob starts the Job of a node that is drained since then, and follows it to its end. It starts
// each Job once: nobody knows how much a Job has done that was deleted. other is a Job that is at
// work on the node.
func (p *plan) byJob(n *node, c claim, since time.Time, other string) move {
	switch {
	case c.job == nil && c.Begun:
		return c.fails(n, cause{slipwayv1alpha1.ReasonJobFailed, fmt.Sprintf(
			"Job %s/%s was deleted before it had ended", p.facts.Namespace, JobName(n.name, c.UID, c.Retry))})
	case c.job == nil:
		return p.startJob(n, c, since, other)
	}
	c.Begun = true
	id := c.job.Namespace + "/" + c.job.Name
	ended := finishedAs(c.job)
	if ended == nil { // on a node that does not come back, its pods never end
		ended = jobCondition(c.job, batchv1.JobFailureTarget)
	}
	switch {
	case ended == nil:
		return c.at(slipwayv1alpha1.NodeWorking, cause{slipwayv1alpha1.ReasonJobRunning, "Job " + id + " is running"}, c.job.CreationTimestamp.Time)
	case ended.Type == batchv1.JobComplete:
		return p.worked(n, c)
	case ended.Reason == batchv1.JobReasonDeadlineExceeded:
		return c.fails(n, cause{slipwayv1alpha1.ReasonWorkTimeout, "Job " + id + ": " + ended.Message})
	default:
		return c.fails(n, cause{slipwayv1alpha1.ReasonJobFailed, "Job " + id + ": " + ended.Message})
	}
}

func (p *plan) startJob(n *node, c claim, since time.Time, other string) move {
	template := p.facts.Templates[c.m.template()]
	held := func(why cause) move { return c.at(slipwayv1alpha1.NodeHeld, why, reachedAt(n.drain)) }
	switch {
	case template == nil:
		return held(p.noTemplate(c.m.template()))
	case other != "":
		return held(cause{slipwayv1alpha1.ReasonWaitingForOthers, fmt.Sprintf("Job %s/%s is at work on the node", p.facts.Namespace, other)})
	case !n.Spec.Unschedulable:
		return c.at(slipwayv1alpha1.NodeHeld, cause{slipwayv1alpha1.ReasonBlocked, "the node is not cordoned, so no work begins"}, time.Time{})
	}
	job := newJob(p.facts.Namespace, n.name, c.m, c.Ref, template)
	mv := c.at(slipwayv1alpha1.NodeWorking, cause{slipwayv1alpha1.ReasonJobRunning, "the Job is being created"}, time.Time{})
	if refusal, refused := p.facts.Refused[Key(CreateJob{Job: job})]; refused {
		if limit, over := p.workOver(c.m, since); over {
			return c.fails(n, cause{
				slipwayv1alpha1.ReasonWorkTimeout,
				fmt.Sprintf("spec.work.timeout: the Job could not be created within %s: %s", limit, refusal),
			})
		}
		mv = c.at(slipwayv1alpha1.NodeHeld, cause{slipwayv1alpha1.ReasonJobRefused, refusal}, since)
	}
	mv.job = job
	return mv
}

// newJob makes the Job of a node from the template. Its pod runs on the node and nowhere else, and
// tolerates the taints of a node that is out or down. The Job has no owner: with a maintenance
// that is deleted in foreground, the garbage collector would delete it in the middle of a reboot.
func newJob(namespace, node string, m *maintenance, ref Ref, template *corev1.PodTemplate) *batchv1.Job {
	pod := *template.Template.DeepCopy()
	labels := map[string]string{slipwayv1alpha1.MaintenanceEventLabel: LabelWork, slipwayv1alpha1.WorkNodeLabel: nodeLabel(node)}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	maps.Copy(pod.Labels, labels)
	toNode(&pod.Spec, node)
	if pod.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	setEnv(pod.Spec.InitContainers, node, m.Name)
	setEnv(pod.Spec.Containers, node, m.Name)
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: JobName(node, m.UID, ref.Retry), Namespace: namespace,
			Labels: labels,
			Annotations: map[string]string{
				annotationNode: node, annotationMaintenance: string(m.UID), annotationName: m.Name, annotationRetry: strconv.FormatInt(ref.Retry, 10),
			},
		},
		Spec: batchv1.JobSpec{Template: pod},
	}
	if m.Spec.Work.BackoffLimit != nil {
		j.Spec.BackoffLimit = new(*m.Spec.Work.BackoffLimit)
	}
	if m.Spec.Work.Timeout != nil {
		j.Spec.ActiveDeadlineSeconds = new(max(1, int64(math.Ceil(m.Spec.Work.Timeout.Seconds()))))
	}
	return j
}

// toNode binds a pod to a node by its name: the label with the hostname may differ from it.
func toNode(pod *corev1.PodSpec, node string) {
	if pod.Affinity == nil {
		pod.Affinity = &corev1.Affinity{}
	}
	pod.Affinity.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
			{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}},
		}}},
	}}
	for _, taint := range []string{corev1.TaintNodeUnschedulable, corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		for _, effect := range []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute} {
			pod.Tolerations = append(pod.Tolerations, corev1.Toleration{Key: taint, Operator: corev1.TolerationOpExists, Effect: effect})
		}
	}
}

func setEnv(containers []corev1.Container, node, maintenance string) {
	for i := range containers {
		containers[i].Env = append(containers[i].Env,
			corev1.EnvVar{Name: envNode, Value: node}, corev1.EnvVar{Name: envMaintenance, Value: maintenance})
	}
}

// isOurs reports whether a Job was created for a maintenance: its name is made from its
// annotations. A copy of it belongs to its author.
func isOurs(j *batchv1.Job) bool {
	retry, err := strconv.ParseInt(j.Annotations[annotationRetry], 10, 64)
	return err == nil && j.Name == JobName(j.Annotations[annotationNode], ownerOf(j), retry)
}

// ownerOf returns the UID of the maintenance that a Job is for.
func ownerOf(j *batchv1.Job) types.UID { return types.UID(j.Annotations[annotationMaintenance]) }

// tidyJobs deletes the Jobs that are not needed any more: without an owner, the garbage collector
// does not. A Job that has failed stays for whoever looks into it, until the node is tried again
// or its maintenance is deleted.
func (v *view) tidyJobs() (steps []Step) {
	for _, j := range v.facts.Jobs {
		if j.DeletionTimestamp == nil && isOurs(j) && v.unneededJob(j) {
			steps = append(steps, DeleteJob{Job: j})
		}
	}
	return steps
}

func (v *view) unneededJob(j *batchv1.Job) bool {
	n, m := v.byName[j.Annotations[annotationNode]], v.byUID[ownerOf(j)]
	if n == nil || !n.exists() {
		return true
	}
	ref := refOf(n.refs, ownerOf(j))
	switch {
	case finishedAs(j) == nil: // it is waited for, whatever has become of its maintenance
		return ref == nil && (m == nil || m.returns())
	case m == nil || m.DeletionTimestamp != nil:
		return true
	case ref != nil && j.Name != JobName(n.name, m.UID, ref.Retry):
		return true // from before a retry
	}
	r := n.recordOf(m)
	return r != nil && r.State != RecordFailed
}
