// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// What a Job says of what it is for, and its containers are told.
const (
	annotationNode        = slipwayv1alpha1.WorkNodeLabel
	annotationMaintenance = "slipway.dev/maintenance-uid"
	annotationName        = "slipway.dev/maintenance-name"
	annotationRetry       = "slipway.dev/maintenance-retry"

	envNode        = "SLIPWAY_NODE"
	envMaintenance = "SLIPWAY_MAINTENANCE"
)

// jobOf is the Job of a maintenance on the node, if there is one.
func (p *pass) jobOf(n *node, entry For) *batchv1.Job {
	return p.jobs[JobName(n.name, entry.UID, entry.Retry)]
}

// running says whether that Job is still at work.
func (p *pass) running(n *node, entry For) bool {
	j := p.jobOf(n, entry)
	return j != nil && finishedAs(j) == nil
}

// finishedAs is the condition in which a Job has ended; nil, if it has not.
func finishedAs(j *batchv1.Job) *batchv1.JobCondition {
	return jobCondition(j, batchv1.JobComplete, batchv1.JobFailed)
}

// jobCondition is the first condition of these types that is True.
func jobCondition(j *batchv1.Job, types ...batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range j.Status.Conditions {
		c := &j.Status.Conditions[i]
		if slices.Contains(types, c.Type) && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// job starts the Job of a node that is drained since then, and follows it to its end. It is
// started once: one that is deleted on the way has done nobody knows how much.
func (p *pass) job(n *node, m *maintained, entry *For, since time.Time) {
	j := p.jobOf(n, *entry)
	switch {
	case j == nil && entry.Begun:
		p.fail(n, m, reasoned{slipwayv1alpha1.ReasonJobFailed, fmt.Sprintf(
			"Job %s/%s was deleted before it had ended", p.facts.Namespace, JobName(n.name, entry.UID, entry.Retry))})
		return
	case j == nil:
		p.startJob(n, m, *entry, since)
		return
	}
	entry.Begun = true
	c := finishedAs(j)
	if c == nil { // its pods may never end, on a node that does not come back
		c = jobCondition(j, batchv1.JobFailureTarget)
	}
	switch {
	case c == nil:
		p.at(n, m.UID, slipwayv1alpha1.NodeWorking, reasoned{
			slipwayv1alpha1.ReasonJobRunning, fmt.Sprintf("Job %s/%s is running", j.Namespace, j.Name),
		}, j.CreationTimestamp.Time)
	case c.Type == batchv1.JobComplete:
		p.worked(n, m, entry)
	case c.Reason == batchv1.JobReasonDeadlineExceeded:
		p.fail(n, m, reasoned{slipwayv1alpha1.ReasonWorkTimeout, fmt.Sprintf("Job %s/%s: %s", j.Namespace, j.Name, c.Message)})
	default:
		p.fail(n, m, reasoned{slipwayv1alpha1.ReasonJobFailed, fmt.Sprintf("Job %s/%s: %s", j.Namespace, j.Name, c.Message)})
	}
}

// workOn is the name of a Job that is at work on the node, or begins now, whoever it is for:
// two at a time would be in each other's way. Empty: none is.
func (p *pass) workOn(n *node) string {
	name := n.work
	for _, j := range p.facts.Jobs {
		if j.Annotations[annotationNode] == n.name && finishedAs(j) == nil && (name == "" || j.Name < name) {
			name = j.Name
		}
	}
	return name
}

func (p *pass) startJob(n *node, m *maintained, entry For, since time.Time) {
	template := p.facts.Templates[m.template()]
	if template == nil {
		p.at(n, m.UID, slipwayv1alpha1.NodeHeld, p.noTemplate(m.template()), reachedAt(n.drain))
		return
	}
	if other := p.workOn(n); other != "" {
		p.at(n, m.UID, slipwayv1alpha1.NodeHeld, reasoned{
			slipwayv1alpha1.ReasonWaitingForOthers, fmt.Sprintf("Job %s/%s is at work on the node", p.facts.Namespace, other),
		}, reachedAt(n.drain))
		return
	}
	if !n.Node.Spec.Unschedulable {
		p.at(n, m.UID, slipwayv1alpha1.NodeHeld, reasoned{slipwayv1alpha1.ReasonBlocked, "the node is not cordoned, so no work begins"}, time.Time{})
		return
	}
	job := newJob(p.facts.Namespace, n.name, m, entry, template)
	refusal, refused := p.facts.Refused[Key(CreateJob{Job: job})]
	if refused {
		if limit, over := p.workOver(m, since); over {
			p.fail(n, m, reasoned{
				slipwayv1alpha1.ReasonWorkTimeout,
				fmt.Sprintf("spec.work.timeout: the Job could not be created within %s: %s", limit, refusal),
			})
			return
		}
		p.at(n, m.UID, slipwayv1alpha1.NodeHeld, reasoned{slipwayv1alpha1.ReasonJobRefused, refusal}, since)
	} else {
		p.at(n, m.UID, slipwayv1alpha1.NodeWorking, reasoned{slipwayv1alpha1.ReasonJobRunning, "the Job is being created"}, time.Time{})
	}
	n.work = job.Name
	p.do(CreateJob{Job: job})
}

// newJob makes the Job of a node of the template. Its pod runs on the node and nowhere
// else, whatever the node is tainted with for its being out, or down on the way. It has no
// owner: the garbage collector would delete it, in the middle of a reboot, with a maintenance
// that is deleted in foreground.
func newJob(namespace, node string, m *maintained, entry For, template *corev1.PodTemplate) *batchv1.Job {
	pod := *template.Template.DeepCopy()
	pod.Labels = with(pod.Labels, slipwayv1alpha1.MaintenanceEventLabel, LabelWork)
	pod.Labels[slipwayv1alpha1.WorkNodeLabel] = nodeLabel(node)
	toNode(&pod.Spec, node)
	if pod.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	tell(pod.Spec.InitContainers, node, m.Name)
	tell(pod.Spec.Containers, node, m.Name)
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: JobName(node, m.UID, entry.Retry), Namespace: namespace,
			Labels: map[string]string{
				slipwayv1alpha1.MaintenanceEventLabel: LabelWork, slipwayv1alpha1.WorkNodeLabel: nodeLabel(node),
			},
			Annotations: map[string]string{
				annotationNode: node, annotationMaintenance: string(m.UID), annotationName: m.Name, annotationRetry: strconv.FormatInt(entry.Retry, 10),
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

func with(labels map[string]string, key, value string) map[string]string {
	if labels == nil {
		labels = map[string]string{}
	}
	labels[key] = value
	return labels
}

// toNode binds a pod to a node, by its name: its labels may say another one.
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

func tell(containers []corev1.Container, node, maintenance string) {
	for i := range containers {
		containers[i].Env = append(containers[i].Env,
			corev1.EnvVar{Name: envNode, Value: node}, corev1.EnvVar{Name: envMaintenance, Value: maintenance})
	}
}
