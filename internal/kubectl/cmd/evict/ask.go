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
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

const (
	// evictRequester is the requester, whoever calls the command.
	evictRequester = "kubectl.slipway.dev/evict"
	// annotationReason is the reason, on the request.
	annotationReason = "slipway.dev/reason"
)

// pursuit requests evictions and follows them to their end.
type pursuit struct {
	cli.Live
	output    *cli.Output
	cluster   follow.Cluster
	clients   kubernetes.Interface
	namespace string

	order []string                  // the pods, as they were named
	asked map[string]*askedEviction // by the pod's name
	ended map[string]evictionRow    // by the pod's name
	news  cli.News[evictionChange]
	// heeded fires when a controller should have acted on the requests.
	heeded clock.Timer
}

func newPursuit(t *cli.Tool, output *cli.Output) *pursuit {
	return &pursuit{
		Live: cli.Live{Tool: t, Format: output.Format}, output: output, asked: map[string]*askedEviction{}, ended: map[string]evictionRow{},
		news: cli.News[evictionChange]{Key: func(c *evictionChange) string { return c.Pod }},
	}
}

// askedEviction is the request for a pod.
type askedEviction struct {
	pod     *corev1.Pod
	request *evictionv1alpha1.EvictionRequest
	// ours means that it was created, not found.
	ours bool
}

func (a *askedEviction) target() target { return target{a.pod.Namespace, a.pod.Name, a.pod.UID} }

// evictName returns the name of the request for a pod. There is one, whoever calls the command.
func evictName(pod types.UID) string {
	sum := sha256.Sum256([]byte(pod))
	return "kubectl-evict-" + hex.EncodeToString(sum[:10])
}

// evictRequest returns the request for a pod. When the pod is gone, the garbage collector removes
// it.
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
func (p *pursuit) askAll(ctx context.Context, pods []string, reason string) error {
	found := map[string]*corev1.Pod{}
	for _, name := range pods {
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
		found[name] = pod
	}
	for _, name := range pods {
		got, err := p.ask(ctx, found[name], reason)
		if err != nil {
			return err
		}
		p.order, p.asked[name] = append(p.order, name), got
	}
	return nil
}

// ask creates a request, or finds one. A request that was withdrawn or has failed is made anew.
func (p *pursuit) ask(ctx context.Context, pod *corev1.Pod, reason string) (*askedEviction, error) {
	requests := p.clients.LifecycleV1alpha1().EvictionRequests(p.namespace)
	wanted := evictRequest(pod, reason)
	for {
		created, err := requests.Create(ctx, wanted, metav1.CreateOptions{})
		if err == nil {
			return &askedEviction{pod: pod, request: created, ours: true}, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return nil, evictionTrouble("create EvictionRequest for pod "+pod.Name, err)
		}
		there, err := requests.Get(ctx, wanted.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue // it has just gone
		case err != nil:
			return nil, fmt.Errorf("get EvictionRequest %s: %w", wanted.Name, err)
		case !isFinal(there.Status.Conditions) && there.Spec.Intent == evictionv1alpha1.EvictionRequestIntentEviction:
			p.Notef("The eviction of pod %s is requested already%s.", pod.Name, because(there))
			return &askedEviction{pod: pod, request: there}, nil
		}
		p.Notef("An earlier request for pod %s has ended; the eviction is requested anew.", pod.Name)
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

// withdraw sets the intent of a request to Withdrawn.
func (p *pursuit) withdraw(ctx context.Context, r *evictionv1alpha1.EvictionRequest) (*evictionv1alpha1.EvictionRequest, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": r.UID}, "spec": map[string]any{"intent": evictionv1alpha1.EvictionRequestIntentWithdrawn},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the withdrawal: %w", err)
	}
	withdrawn, err := p.clients.LifecycleV1alpha1().EvictionRequests(r.Namespace).Patch(ctx, r.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return nil, fmt.Errorf("withdraw EvictionRequest %s: %w", r.Name, err)
	}
	return withdrawn, nil
}

// printAsked prints the requests without waiting.
func (p *pursuit) printAsked() error {
	var requests []*evictionv1alpha1.EvictionRequest
	var names []string
	for _, name := range p.order {
		a := p.asked[name]
		names = append(names, evictionResource(a.request))
		request := a.request.DeepCopy()
		request.APIVersion, request.Kind = evictionv1alpha1.SchemeGroupVersion.String(), "EvictionRequest"
		requests = append(requests, request)
	}
	if p.Format != cli.Human {
		value := cli.List(requests)
		if len(requests) == 1 {
			value = requests[0]
		}
		return p.Print(p.output, cli.View{Value: value, Names: names})
	}
	for i, name := range p.order {
		done := "created"
		if !p.asked[name].ours {
			done = "goes on already"
		}
		p.Sayf("%s %s\n", names[i], done)
	}
	p.sayLeft()
	return nil
}

func evictionResource(r *evictionv1alpha1.EvictionRequest) string {
	return "evictionrequest.lifecycle.k8s.io/" + r.Name
}

// sayLeft says how to look at the requests, and how to withdraw them.
func (p *pursuit) sayLeft() {
	if len(p.order) == 0 {
		return
	}
	all := strings.Join(p.order, " ")
	p.Notef("It goes on in the cluster.\n  kubectl slipway evictions -n %s   shows it\n  kubectl slipway evict %s -n %s --withdraw   withdraws it",
		p.namespace, all, p.namespace)
}
