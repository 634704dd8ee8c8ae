// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/utils/ptr"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/test/auditcheck"
)

const patience = 90 * time.Second

// scene is a namespace and some nodes of the shared cluster, for one test.
type scene struct {
	t *testing.T
	*cluster
	ctx       context.Context
	namespace string
	nodes     []string
	drained   []auditcheck.Drain
}

func newScene(t *testing.T, nodes int) *scene {
	t.Helper()
	c := running(t)
	ctx, cancel := context.WithTimeoutCause(t.Context(), patience, fmt.Errorf("the test took more than %s", patience))
	t.Cleanup(cancel)
	s := &scene{t: t, cluster: c, ctx: ctx, nodes: c.takeNodes(t, nodes)}
	t.Cleanup(s.keepsPromises)
	ns, err := c.admin.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "drain-"},
	}, metav1.CreateOptions{})
	s.must(err)
	s.namespace = ns.Name
	// Without it no pod is admitted.
	await(s, c.admin.CoreV1().ServiceAccounts(s.namespace), &corev1.ServiceAccount{}, "default", "there", func(*corev1.ServiceAccount) bool { return true })
	return s
}

func (s *scene) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// watcher is the part of a typed client that await needs.
type watcher[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// await watches an object until it is as wanted.
func await[L, T runtime.Object](s *scene, client watcher[L], example T, name, what string, is func(T) bool) {
	s.t.Helper()
	s.follow(lister(client, name), example, fmt.Sprintf("%s to be %s", name, what), func(e watch.Event) (bool, error) {
		object, ok := e.Object.(T)
		return ok && e.Type != watch.Deleted && is(object), nil
	}, nil)
}

// awaitGone watches an object until it, not one of the same name, is gone.
func (s *scene) awaitGone(pod *corev1.Pod) {
	s.t.Helper()
	missing := func(store cache.Store) (bool, error) {
		for _, object := range store.List() {
			if p, ok := object.(*corev1.Pod); ok && p.UID == pod.UID {
				return false, nil
			}
		}
		return true, nil
	}
	s.follow(lister(s.admin.CoreV1().Pods(s.namespace), pod.Name), &corev1.Pod{}, pod.Name+" to be gone", func(e watch.Event) (bool, error) {
		p, ok := e.Object.(*corev1.Pod)
		return ok && (e.Type == watch.Deleted || p.UID != pod.UID), nil
	}, missing)
}

func (s *scene) follow(lw cache.ListerWatcher, example runtime.Object, what string, is watchtools.ConditionFunc, before watchtools.PreconditionFunc) {
	s.t.Helper()
	if _, err := watchtools.UntilWithSync(s.ctx, lw, example, before, is); err != nil {
		s.t.Fatalf("waiting for %s: %v", what, err)
	}
}

func lister[L runtime.Object](client watcher[L], name string) cache.ListerWatcher {
	selector := fields.OneTermEqualSelector("metadata.name", name).String()
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			o.FieldSelector = selector
			return client.List(ctx, o)
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			return client.Watch(ctx, o)
		},
	}
}

func podSpec(change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"app": "web"},
			Annotations: map[string]string{
				"pod-create.stage.kwok.x-k8s.io/delay": "10ms", "pod-create.stage.kwok.x-k8s.io/jitter-delay": "10ms",
				"pod-ready.stage.kwok.x-k8s.io/delay": "10ms", "pod-ready.stage.kwok.x-k8s.io/jitter-delay": "10ms",
				"pod-delete.stage.kwok.x-k8s.io/delay": "100ms",
			},
		},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: ptr.To[int64](1),
			Containers:                    []corev1.Container{{Name: "main", Image: "example.test/none"}},
		},
	}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func labelled(app string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels["app"] = app }
}

// endsAfter makes a pod take this long to end, and allows it to.
func endsAfter(seconds int64) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Annotations["pod-delete.stage.kwok.x-k8s.io/delay"] = fmt.Sprintf("%ds", seconds)
		p.Spec.TerminationGracePeriodSeconds = &seconds
	}
}

// pod starts a pod of its own on a node, past the scheduler, and waits until it is ready.
func (s *scene) pod(node, name string, change ...func(*corev1.Pod)) *corev1.Pod {
	s.t.Helper()
	pod := s.create(node, name, change...)
	s.awaitPod(name, "ready", isReady)
	return pod
}

func (s *scene) create(node, name string, change ...func(*corev1.Pod)) *corev1.Pod {
	s.t.Helper()
	pod := podSpec(change...)
	pod.Name, pod.Spec.NodeName = name, node
	pod, err := s.admin.CoreV1().Pods(s.namespace).Create(s.ctx, pod, metav1.CreateOptions{})
	s.must(err)
	return pod
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func (s *scene) awaitPod(name, what string, is func(*corev1.Pod) bool) {
	s.t.Helper()
	await(s, s.admin.CoreV1().Pods(s.namespace), &corev1.Pod{}, name, what, is)
}

func (s *scene) getPod(name string) *corev1.Pod {
	s.t.Helper()
	pod, err := s.admin.CoreV1().Pods(s.namespace).Get(s.ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	s.must(err)
	return pod
}

func (s *scene) patchPod(name, patch string, subresources ...string) {
	s.t.Helper()
	_, err := s.admin.CoreV1().Pods(s.namespace).Patch(s.ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	s.must(err)
}

// unready marks a running pod as not ready.
func (s *scene) unready(name string) {
	s.patchPod(name, `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`, "status")
}

// budget protects the pods of an app, and waits until the budget counts them.
func (s *scene) budget(name, app string, minAvailable int, pods int32) {
	s.t.Helper()
	_, err := s.admin.PolicyV1().PodDisruptionBudgets(s.namespace).Create(s.ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MinAvailable: new(intstr.FromInt(minAvailable)),
			Selector:     &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}},
		},
	}, metav1.CreateOptions{})
	s.must(err)
	s.awaitBudget(name, fmt.Sprintf("counting %d pods", pods), func(b *policyv1.PodDisruptionBudget) bool { return b.Status.CurrentHealthy == pods })
}

func (s *scene) awaitBudget(name, what string, is func(*policyv1.PodDisruptionBudget) bool) {
	s.t.Helper()
	await(s, s.admin.PolicyV1().PodDisruptionBudgets(s.namespace), &policyv1.PodDisruptionBudget{}, name, what, func(b *policyv1.PodDisruptionBudget) bool {
		return b.Status.ObservedGeneration == b.Generation && is(b)
	})
}

func (s *scene) patchBudget(name, patch string) {
	s.t.Helper()
	_, err := s.admin.PolicyV1().PodDisruptionBudgets(s.namespace).Patch(s.ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	s.must(err)
}

// cordon makes nodes unschedulable, as kubectl cordon does. The taint is the control plane's to add.
func (s *scene) cordon(nodes ...string) {
	s.t.Helper()
	for _, node := range nodes {
		_, err := s.admin.CoreV1().Nodes().Patch(s.ctx, node, types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{})
		s.must(err)
	}
}

// drainer returns one that has no more rights than it must have: as the node for pods, as a service account that may
// read budgets for budgets.
func (s *scene) drainer(node string, change ...func(*drain.Config)) *drain.Drainer {
	s.t.Helper()
	return s.drainerWith(s.asNode(s.t, node), change...)
}

func (s *scene) drainerWith(pods kubernetes.Interface, change ...func(*drain.Config)) *drain.Drainer {
	s.t.Helper()
	config := drain.Config{Pods: pods.CoreV1(), Budgets: s.budgetReader().PolicyV1()}
	for _, c := range change {
		c(&config)
	}
	d, err := drain.New(config)
	s.must(err)
	return d
}

func (s *scene) budgetReader() kubernetes.Interface {
	s.t.Helper()
	name := s.namespace + "-budgets"
	user := s.budgetReaderName()
	_, err := s.admin.RbacV1().ClusterRoles().Create(s.ctx, &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{"policy"}, Resources: []string{"poddisruptionbudgets"}, Verbs: []string{"list", "watch"}}},
	}, metav1.CreateOptions{})
	s.mustExist(err)
	_, err = s.admin.RbacV1().ClusterRoleBindings().Create(s.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
	}, metav1.CreateOptions{})
	s.mustExist(err)
	return s.as(s.t, rest.ImpersonationConfig{UserName: user, Groups: []string{"system:serviceaccounts", "system:authenticated"}})
}

func (s *scene) budgetReaderName() string {
	return "system:serviceaccount:" + s.namespace + ":drainer"
}

func (s *scene) mustExist(err error) {
	s.t.Helper()
	if !apierrors.IsAlreadyExists(err) {
		s.must(err)
	}
}

// wantEvictions checks how many evictions the server has answered with each code.
func (s *scene) wantEvictions(want map[int]int) {
	s.t.Helper()
	got := map[int]int{}
	for _, r := range s.evictions(s.t, s.namespace) {
		got[r.ResponseStatus.Code]++
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Errorf("evictions by answer: got %v, want %v", got, want)
	}
}
