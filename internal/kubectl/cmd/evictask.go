// SPDX-License-Identifier: Apache-2.0

package cmd

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

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

const (
	// evictRequester is as whom this command asks, whoever calls it.
	evictRequester = "kubectl.slipway.dev/evict"
	// annotationReason is why, on the request.
	annotationReason = "slipway.dev/reason"
)

// evictPursuit asks for evictions and follows them to their end.
type evictPursuit struct {
	*tool
	clients   kubernetes.Interface
	namespace string
	output    format

	order []string                  // the pods, as they were named
	asked map[string]*askedEviction // by the pod's name
	shown map[string]evictionChange // what was told last, by the pod's name
	drawn ui.Canvas
	lost  string // what was said last of a server that does not answer
}

// askedEviction is a request for a pod.
type askedEviction struct {
	pod     *corev1.Pod
	request *evictionv1alpha1.EvictionRequest
	// ours: it was created now.
	ours bool
}

func (a *askedEviction) target() target { return target{a.pod.Namespace, a.pod.Name, a.pod.UID} }

// evictName is the name of the request for a pod: whoever calls the command, there is one.
func evictName(pod types.UID) string {
	sum := sha256.Sum256([]byte(pod))
	return "kubectl-evict-" + hex.EncodeToString(sum[:10])
}

// evictRequest asks for the eviction of a pod. When the pod is gone, the garbage collector
// removes it.
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

// askAll finds the pods, all of them before it asks for one, and asks.
func (p *evictPursuit) askAll(ctx context.Context, pods []string, reason string) error {
	found := map[string]*corev1.Pod{}
	for _, name := range pods {
		pod, err := p.clients.CoreV1().Pods(p.namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return noSuchPod(p.namespace, name)
		case err != nil:
			return fmt.Errorf("get pod %s: %w", name, err)
		}
		if _, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
			return fmt.Errorf("pod %s is a static pod, which the kubelet of its node starts again: remove its file from the node", name)
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

// ask creates a request, or finds one. One that was withdrawn is renewed, and one that has
// failed is made anew.
func (p *evictPursuit) ask(ctx context.Context, pod *corev1.Pod, reason string) (*askedEviction, error) {
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
			p.note("The eviction of pod %s is asked for already%s.", pod.Name, because(there))
			return &askedEviction{pod: pod, request: there}, nil
		}
		p.note("An earlier request for pod %s has ended; it is asked for anew.", pod.Name)
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

func (p *evictPursuit) note(format string, args ...any) {
	fmt.Fprintf(p.ErrOut, format+"\n", args...)
}

// remove deletes this very request.
func (p *evictPursuit) remove(ctx context.Context, r *evictionv1alpha1.EvictionRequest) error {
	err := p.clients.LifecycleV1alpha1().EvictionRequests(r.Namespace).Delete(ctx, r.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(r.UID))})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete EvictionRequest %s: %w", r.Name, err)
	}
	return nil
}

// withdraw says on a request that the eviction is not wanted any more.
func (p *evictPursuit) withdraw(ctx context.Context, r *evictionv1alpha1.EvictionRequest) (*evictionv1alpha1.EvictionRequest, error) {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": r.UID}, "spec": map[string]any{"intent": evictionv1alpha1.EvictionRequestIntentWithdrawn},
	})
	if err != nil {
		return nil, fmt.Errorf("encode that an eviction is not wanted: %w", err)
	}
	withdrawn, err := p.clients.LifecycleV1alpha1().EvictionRequests(r.Namespace).Patch(ctx, r.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return nil, fmt.Errorf("withdraw EvictionRequest %s: %w", r.Name, err)
	}
	return withdrawn, nil
}

// printAsked says what was asked for, for who does not wait.
func (p *evictPursuit) printAsked() error {
	for _, name := range p.order {
		a := p.asked[name]
		done := " created"
		if !a.ours {
			done = " goes on already"
		}
		switch p.output {
		case names:
			fmt.Fprintln(p.Out, evictionResource(a.request))
		case jsonText:
			request := a.request.DeepCopy()
			request.APIVersion, request.Kind = evictionv1alpha1.SchemeGroupVersion.String(), "EvictionRequest"
			if err := encode(p.Out, jsonText, request); err != nil {
				return err
			}
		default:
			p.say(evictionResource(a.request) + done + "\n")
		}
	}
	if p.output == people {
		p.sayLeft()
	}
	return nil
}

func evictionResource(r *evictionv1alpha1.EvictionRequest) string {
	return "evictionrequest.lifecycle.k8s.io/" + r.Name
}

// sayLeft says how to look at what goes on, and how to end it.
func (p *evictPursuit) sayLeft() {
	if len(p.order) == 0 {
		return
	}
	all := strings.Join(p.order, " ")
	p.note("It goes on in the cluster.\n  kubectl slipway evictions -n %s   shows it\n  kubectl slipway evict %s -n %s --withdraw   takes it back",
		p.namespace, all, p.namespace)
}
