// SPDX-License-Identifier: Apache-2.0

package evict

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

const (
	// evictRequester is the requester, for every user of the command.
	evictRequester = "kubectl.slipway.dev/evict"
	// annotationReason holds the reason of a request.
	annotationReason = "slipway.dev/reason"
)

// pursuit requests evictions and follows them to their end.
type pursuit struct {
	cli.Live
	output    *cli.Output
	cluster   follow.Cluster
	clients   kubernetes.Interface
	namespace string

	order []string                  // the pods of the command line
	asked map[string]*askedEviction // by the pod's name
	ended map[string]evictionRow    // by the pod's name
	news  cli.News[evictionChange]
	// heeded fires after the usual time in which a controller acts on the requests.
	heeded clock.Timer
}

func newPursuit(t *cli.Tool, output *cli.Output) (*pursuit, error) {
	p := &pursuit{Live: cli.Live{Tool: t}, output: output, asked: map[string]*askedEviction{}, ended: map[string]evictionRow{}}
	p.news.Key = func(c *evictionChange) string { return c.Pod }
	if output != nil {
		p.Format = output.Format
	}
	var err error
	p.cluster, p.clients, p.namespace, err = evictionClients(t)
	return p, err
}

// askedEviction is the request for a pod.
type askedEviction struct {
	pod     *corev1.Pod
	request *evictionv1alpha1.EvictionRequest
	// isNew marks a request that this command has created.
	isNew bool
}

func (a *askedEviction) target() target { return target{a.pod.Namespace, a.pod.Name, a.pod.UID} }

// evictName returns the name of the request for a pod, the same for every user of the command.
func evictName(pod types.UID) string {
	sum := sha256.Sum256([]byte(pod))
	return "kubectl-evict-" + hex.EncodeToString(sum[:10])
}

// evictRequest returns the request for a pod. The garbage collector removes it after its pod.
func evictRequest(pod *corev1.Pod, reason string) *evictionv1alpha1.EvictionRequest {
	r := &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: evictName(pod.UID),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}},
	}}
	if reason != "" {
		r.Annotations = map[string]string{annotationReason: reason}
	}
	r.Spec.Target.Pod = &evictionv1alpha1.EvictionRequestPodReference{Name: pod.Name, UID: pod.UID}
	r.Spec.Requester, r.Spec.Intent = evictRequester, evictionv1alpha1.EvictionRequestIntentEviction
	return r
}

// askAll finds all pods, and then requests their evictions.
func (p *pursuit) askAll(ctx context.Context, names []string, reason string) error {
	var pods []*corev1.Pod
	for _, name := range names {
		pod, err := p.clients.CoreV1().Pods(p.namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("there is no pod %s in namespace %s; -n gives another namespace", name, p.namespace)
		case err != nil:
			return fmt.Errorf("get pod %s: %w", name, err)
		}
		if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
			return fmt.Errorf("pod %s is a static pod, which the kubelet of its node starts again: remove its manifest from the node", name)
		}
		pods = append(pods, pod)
	}
	for _, pod := range pods {
		got, err := p.ask(ctx, pod, reason)
		if err != nil {
			return err
		}
		p.order, p.asked[pod.Name] = append(p.order, pod.Name), got
	}
	return nil
}

// ask creates a request, or finds one. It replaces a withdrawn or failed request.
func (p *pursuit) ask(ctx context.Context, pod *corev1.Pod, reason string) (*askedEviction, error) {
	requests := p.clients.LifecycleV1alpha1().EvictionRequests(p.namespace)
	wanted := evictRequest(pod, reason)
	for {
		created, err := requests.Create(ctx, wanted, metav1.CreateOptions{})
		if err == nil {
			return &askedEviction{pod: pod, request: created, isNew: true}, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return nil, evictionTrouble("create EvictionRequest for pod "+pod.Name, err)
		}
		there, err := requests.Get(ctx, wanted.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue // a user has just deleted it
		case err != nil:
			return nil, fmt.Errorf("get EvictionRequest %s: %w", wanted.Name, err)
		case !isFinal(there.Status.Conditions) && there.Spec.Intent == evictionv1alpha1.EvictionRequestIntentEviction:
			p.Notef("The eviction of pod %s is requested already%s.", pod.Name, because(there))
			return &askedEviction{pod: pod, request: there}, nil
		}
		p.Notef("An earlier request for pod %s has ended; the command requests the eviction again.", pod.Name)
		if err := p.remove(ctx, there); err != nil {
			return nil, err
		}
	}
}

func because(r *evictionv1alpha1.EvictionRequest) string {
	text := ", since " + r.CreationTimestamp.UTC().Format(time.RFC3339)
	if why := r.Annotations[annotationReason]; why != "" {
		text += " (" + ui.Clean(why) + ")"
	}
	return text
}

// remove deletes this very request.
func (p *pursuit) remove(ctx context.Context, r *evictionv1alpha1.EvictionRequest) error {
	err := p.clients.LifecycleV1alpha1().EvictionRequests(r.Namespace).Delete(ctx, r.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(r.UID))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete EvictionRequest %s: %w", r.Name, err)
	}
	return nil
}

// withdrawAll withdraws the requests of this command for pods of these names: it sets their intent.
func (p *pursuit) withdrawAll(ctx context.Context, pods []string) error {
	all, err := p.clients.LifecycleV1alpha1().EvictionRequests(p.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return evictionTrouble("list EvictionRequests", err)
	}
	requests := cli.Pointers(all.Items)
	for _, name := range pods {
		found := false
		for _, r := range requests {
			t := r.Spec.Target.Pod
			if t == nil || t.Name != name || r.Spec.Requester != evictRequester || r.Name != evictName(t.UID) || r.Spec.Intent == evictionv1alpha1.EvictionRequestIntentWithdrawn {
				continue
			}
			found = true
			if err := p.withdraw(ctx, r); err != nil {
				return err
			}
			p.Sayf("%s", withdrawnText(r, requests))
		}
		if !found {
			p.Sayf("pod/%s has no request to withdraw\n", name)
		}
	}
	return nil
}

// withdraw sets the intent of this very request to Withdrawn.
func (p *pursuit) withdraw(ctx context.Context, r *evictionv1alpha1.EvictionRequest) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": r.UID}, "spec": map[string]any{"intent": evictionv1alpha1.EvictionRequestIntentWithdrawn},
	})
	if err == nil {
		_, err = p.clients.LifecycleV1alpha1().EvictionRequests(r.Namespace).Patch(ctx, r.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("withdraw EvictionRequest %s: %w", r.Name, err)
	}
	return nil
}

// withdrawnText describes the eviction after the withdrawal of a request.
func withdrawnText(r *evictionv1alpha1.EvictionRequest, requests []*evictionv1alpha1.EvictionRequest) string {
	pod := r.Spec.Target.Pod
	row := target{r.Namespace, pod.Name, pod.UID}.row(requests, nil)
	text := "pod/" + pod.Name + ": the request is withdrawn"
	var others []string
	for _, q := range row.Requesters {
		if q.Intent == evictionv1alpha1.RequesterIntentEviction && q.Name != evictRequester {
			others = append(others, q.Name)
		}
	}
	switch {
	case row.State == evicted:
		text += ", after the end of the pod"
	case len(others) > 0:
		text += ", and the eviction continues: " + strings.Join(others, ", ") + " still requests it"
	}
	return text + "\n"
}

// printAsked prints the requests without waiting.
func (p *pursuit) printAsked() error {
	var requests []*evictionv1alpha1.EvictionRequest
	var names []string
	text := ""
	for _, name := range p.order {
		a := p.asked[name]
		names = append(names, "evictionrequest.lifecycle.k8s.io/"+a.request.Name)
		request := a.request.DeepCopy()
		request.APIVersion, request.Kind = evictionv1alpha1.SchemeGroupVersion.String(), "EvictionRequest"
		requests = append(requests, request)
		done := "created"
		if !a.isNew {
			done = "exists already"
		}
		text += names[len(names)-1] + " " + done + "\n"
	}
	if p.Format == cli.Human {
		defer p.sayLeft()
	}
	return p.Print(p.output, cli.View{Value: cli.OneOrList(requests), Names: names, Text: func(ui.Style, bool) string { return text }})
}

// sayLeft adds the commands that show and withdraw the requests.
func (p *pursuit) sayLeft() {
	if len(p.order) == 0 {
		return
	}
	p.Notef("It continues in the cluster.\n  kubectl slipway evictions -n %s   shows it\n  kubectl slipway evict %s -n %s --withdraw   withdraws it",
		p.namespace, strings.Join(p.order, " "), p.namespace)
}

// endOfEviction returns the exit code of an eviction that has ended, and its text.
func endOfEviction(row *evictionRow) (code int, text string) {
	not := "pod " + row.Pod + " is not evicted: "
	switch says := ui.Clean(row.message()); {
	case row.State == evicted:
		return cli.Done, "pod/" + row.Pod + " evicted"
	case row.State == state.Canceled:
		return cli.Canceled, not + "the eviction was canceled: " + says
	case row.Reason == string(evictionv1alpha1.EvictionConditionReasonNoFurtherResponder):
		return cli.Failed, not + says + fmt.Sprintf("; 'kubectl slipway evict %s -n %s' requests it again", row.Pod, row.Namespace)
	default:
		return cli.Failed, not + says
	}
}
