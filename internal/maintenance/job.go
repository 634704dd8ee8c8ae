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

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Annotations of a Job name its node and its maintenance. Environment variables pass them to its containers.
const (
	annotationNode        = slipwayv1alpha1.WorkNodeLabel
	annotationMaintenance = "slipway.dev/maintenance-uid"
	annotationName        = "slipway.dev/maintenance-name"
	annotationRetry       = "slipway.dev/maintenance-retry"

	envNode        = "SLIPWAY_NODE"
	envMaintenance = "SLIPWAY_MAINTENANCE"

	// labelTemplate of a Job names its PodTemplate, for admission policies.
	labelTemplate = "slipway.dev/pod-template"
)

// JobNamespace returns the namespace of Jobs and their PodTemplates, for Slipway's own namespace.
func JobNamespace(own string) string { return own + "-jobs" }

// drained is for a drained node: hooks AfterDrain, work, hooks BeforeReturn. Without a rollout, the node
// waits for stage Complete. other is the name of a running Job on the node.
func (p *plan) drained(n *node, c claim, other string) move {
	since := latest(reachedAt(n.drain), c.Since)
	lost := p.barred(n)
	workType := c.m.workType()
	began := c.worked() || workDone(n.drain) && workType == slipwayv1alpha1.WorkManual
	switch {
	case c.m.Spec.Rollout == nil:
		return c.at(slipwayv1alpha1.NodeDrained, lost, since)
	case c.m.Spec.Paused:
		return c.at(slipwayv1alpha1.NodeDrained, isPaused, since)
	case lost.reason != "" && !began:
		return c.at(slipwayv1alpha1.NodeHeld, lost, since)
	case n.Frozen != "" && !began && workType != slipwayv1alpha1.WorkNone: // a return does not wait
		return c.at(slipwayv1alpha1.NodeHeld, cause{lifecyclev1alpha1.ReasonFrozen, n.Frozen}, since)
	case !c.Worked.IsZero():
		return p.worked(n, c)
	case !c.worked():
		if mv, held := p.heldByHooks(n, c, slipwayv1alpha1.AfterDrain, since); held {
			return mv
		}
	}
	switch workType {
	case slipwayv1alpha1.WorkNone:
		return p.worked(n, c)
	case slipwayv1alpha1.WorkJob:
		return p.byJob(n, c, since, other)
	default:
		return p.byHand(n, c, since)
	}
}

// worked records that the maintenance has completed its part on the node, unless hooks BeforeReturn hold the
// node. Before these hooks, the event records the end of the work, as a third party may delete the Job.
func (p *plan) worked(n *node, c claim) move {
	if c.m.hasHooks(slipwayv1alpha1.BeforeReturn) {
		if c.Worked.IsZero() {
			c.Worked = p.second().Time
			return c.at(slipwayv1alpha1.NodeWorking, cause{}, c.Worked)
		}
		if mv, held := p.heldByHooks(n, c, slipwayv1alpha1.BeforeReturn, c.Worked); held {
			return mv
		}
	}
	mv := c.at(slipwayv1alpha1.NodeReturning, cause{}, time.Time{})
	mv.record = &Record{UID: c.UID, State: RecordDone, Retry: c.m.Spec.Retry}
	return mv
}

// byHand waits until an administrator or another tool declares the work done.
func (p *plan) byHand(n *node, c claim, since time.Time) move {
	if workDone(n.drain) {
		return p.worked(n, c)
	}
	if limit, over := p.workOver(c.m, since); over {
		return c.fails(n, slipwayv1alpha1.ReasonWorkTimeout, "spec.work.timeout: the work was not declared done within %s", limit)
	}
	return c.at(slipwayv1alpha1.NodeWorking, cause{
		slipwayv1alpha1.ReasonWaitingForWork, fmt.Sprintf("waiting for the end of the work: kubectl slipway done %s", n.name),
	}, since)
}

// workOver reports whether the work has exceeded its time limit since a time. A Job has its own limit.
func (v *view) workOver(m *maintenance, since time.Time) (limit time.Duration, over bool) {
	if m.Spec.Work == nil || m.Spec.Work.Timeout == nil {
		return 0, false
	}
	limit = m.Spec.Work.Timeout.Duration
	return limit, v.alarm.passed(since.Add(limit))
}

// byJob starts the Job of a node that has been drained since a time, and follows it to its end. It starts
// each Job once: the progress of a deleted Job is unknown.
func (p *plan) byJob(n *node, c claim, since time.Time, other string) move {
	switch {
	case c.job == nil && c.Begun:
		return c.fails(n, slipwayv1alpha1.ReasonJobFailed, "Job %s/%s was deleted before its end", p.facts.JobNamespace, JobName(n.name, c.UID, c.Retry))
	case c.job == nil:
		return p.startJob(n, c, since, other)
	}
	c.Begun = true
	id := c.job.Namespace + "/" + c.job.Name
	ended := finishedAs(c.job)
	if ended == nil { // on a node that stays down, its pods never end
		ended = jobCondition(c.job, batchv1.JobFailureTarget)
	}
	switch {
	case ended == nil:
		return c.at(slipwayv1alpha1.NodeWorking, cause{slipwayv1alpha1.ReasonJobRunning, "Job " + id + " is running"}, c.job.CreationTimestamp.Time)
	case ended.Type == batchv1.JobComplete:
		return p.worked(n, c)
	case ended.Reason == batchv1.JobReasonDeadlineExceeded:
		return c.fails(n, slipwayv1alpha1.ReasonWorkTimeout, "Job %s: %s", id, ended.Message)
	default:
		return c.fails(n, slipwayv1alpha1.ReasonJobFailed, "Job %s: %s", id, ended.Message)
	}
}

func (p *plan) startJob(n *node, c claim, since time.Time, other string) move {
	template := p.facts.Templates[c.m.template()]
	held := func(why cause) move { return c.at(slipwayv1alpha1.NodeHeld, why, reachedAt(n.drain)) }
	switch {
	case template == nil:
		return held(p.noTemplate(c.m.template()))
	case other != "":
		return held(cause{slipwayv1alpha1.ReasonWaitingForOthers, fmt.Sprintf("Job %s/%s is running on the node", p.facts.JobNamespace, other)})
	case !n.Spec.Unschedulable:
		return c.at(slipwayv1alpha1.NodeHeld, cause{slipwayv1alpha1.ReasonBlocked, "the node is not cordoned, so no work begins"}, time.Time{})
	}
	job := newJob(p.facts.JobNamespace, n.name, c.m, c.Ref, template)
	mv := c.at(slipwayv1alpha1.NodeWorking, cause{slipwayv1alpha1.ReasonJobRunning, "the controller is creating the Job"}, time.Time{})
	if refusal, refused := p.facts.Refused[Key(CreateJob{Job: job})]; refused {
		if limit, over := p.workOver(c.m, since); over {
			return c.fails(n, slipwayv1alpha1.ReasonWorkTimeout, "spec.work.timeout: the Job could not be created within %s: %s", limit, refusal)
		}
		mv = c.at(slipwayv1alpha1.NodeHeld, cause{slipwayv1alpha1.ReasonJobRefused, refusal}, since)
	}
	mv.job = job
	return mv
}

// newJob makes the Job of a node from the template. Its pod runs only on that node, and tolerates the taints
// of a cordoned node or one that is down. The Job has no owner: after a foreground deletion of the
// maintenance, the garbage collector would delete it in the middle of a reboot.
func newJob(namespace, node string, m *maintenance, ref Ref, template *corev1.PodTemplate) *batchv1.Job {
	pod := *template.Template.DeepCopy()
	labels := map[string]string{slipwayv1alpha1.MaintenanceEventLabel: LabelWork, slipwayv1alpha1.WorkNodeLabel: nodeLabel(node)}
	if pod.Labels == nil {
		pod.Labels = map[string]string{}
	}
	maps.Copy(pod.Labels, labels)
	labels[labelTemplate] = m.Spec.Work.PodTemplate
	toNode(&pod.Spec, node)
	if pod.Spec.RestartPolicy != corev1.RestartPolicyOnFailure {
		pod.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			containers[i].Env = append(containers[i].Env, corev1.EnvVar{Name: envNode, Value: node}, corev1.EnvVar{Name: envMaintenance, Value: m.Name})
		}
	}
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: JobName(node, m.UID, ref.Retry), Namespace: namespace,
			Labels: labels,
			Annotations: map[string]string{
				annotationNode: node, annotationMaintenance: string(m.UID), annotationName: m.Name, annotationRetry: strconv.FormatInt(ref.Retry, 10),
			},
		},
		Spec: batchv1.JobSpec{Template: pod, BackoffLimit: m.Spec.Work.BackoffLimit},
	}
	if m.Spec.Work.Timeout != nil {
		j.Spec.ActiveDeadlineSeconds = new(max(1, int64(math.Ceil(m.Spec.Work.Timeout.Seconds()))))
	}
	return j
}

// toNode binds a pod to a node by its name, which may differ from the hostname label.
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

// finishedAs returns the condition in which a Job has ended; nil, if it is running.
func finishedAs(j *batchv1.Job) *batchv1.JobCondition {
	return jobCondition(j, batchv1.JobComplete, batchv1.JobFailed)
}

// jobCondition returns the first condition of these types that is True.
func jobCondition(j *batchv1.Job, types ...batchv1.JobConditionType) *batchv1.JobCondition {
	return find(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return slices.Contains(types, c.Type) && c.Status == corev1.ConditionTrue
	})
}

// jobOn returns the name of a running Job on the node, of any maintenance: two Jobs at a time would disturb
// each other.
func (v *view) jobOn(n *node) (name string) {
	for _, j := range v.facts.Jobs {
		if j.Annotations[annotationNode] == n.name && finishedAs(j) == nil && (name == "" || j.Name < name) {
			name = j.Name
		}
	}
	return name
}

// isOurs reports whether this controller created a Job for a maintenance: the name follows from the
// annotations. A copy of the Job belongs to its author.
func isOurs(j *batchv1.Job) bool {
	retry, err := strconv.ParseInt(j.Annotations[annotationRetry], 10, 64)
	return err == nil && j.Name == JobName(j.Annotations[annotationNode], ownerOf(j), retry)
}

// ownerOf returns the UID of the maintenance of a Job.
func ownerOf(j *batchv1.Job) types.UID { return types.UID(j.Annotations[annotationMaintenance]) }

// tidyJobs deletes unneeded Jobs, which have no owner and so are not garbage collected. A failed Job stays for
// an administrator, until the node is retried or its maintenance is deleted.
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
	case finishedAs(j) == nil: // the node waits for it, even after the deletion of its maintenance
		return ref == nil && (m == nil || m.returns())
	case m == nil || m.DeletionTimestamp != nil:
		return true
	case ref != nil && j.Name != JobName(n.name, m.UID, ref.Retry):
		return true // from before a retry
	}
	r := n.recordOf(m)
	return r != nil && r.State != RecordFailed
}
