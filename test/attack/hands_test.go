// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// Whose credentials a scene has.
const (
	agentA   = "the agent of A"
	agentB   = "the agent of B"
	nodeA    = "the agent of A as its node"
	nodeB    = "the agent of B as its node"
	unbound  = "an agent's token that is bound to no pod"
	driverOn = "a driver of others on A"
	detector = "who watches over all nodes"

	viewer     = "a viewer"
	operator   = "an operator"
	boss       = "an administrator of Slipway"
	controller = "the controller"
	root       = "the administrator of the cluster"

	nobody = "" // no credentials are good for an attempt
)

const (
	agentAccount      = "system:serviceaccount:" + devcluster.Namespace + ":" + devcluster.AgentServiceAccount
	controllerAccount = "system:serviceaccount:" + devcluster.Namespace + ":slipway-controller"
)

// hand is what somebody makes requests with.
type hand struct {
	config *rest.Config
	kube   kubernetes.Interface
	kinds  client.Client // of the two kinds, and core/v1
	any    dynamic.Interface
}

// as is the hand of somebody.
func (s *scene) as(t *testing.T, who string) hand {
	t.Helper()
	if known, ok := s.hands[who]; ok {
		return known
	}
	config := s.configs[who]
	if config == nil {
		t.Fatalf("nobody is %s", who)
	}
	config = rest.CopyConfig(config)
	config.QPS = -1 // no limit: a test sends many requests
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	in := apigroup.In(s.env.Group)
	kinds, err := client.New(config, client.Options{Scheme: in.Scheme(), Mapper: in.Mapper()})
	if err != nil {
		t.Fatal(err)
	}
	others, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s.hands[who] = hand{config: config, kube: kube, kinds: kinds, any: others}
	return s.hands[who]
}

// impersonating are credentials with which somebody acts as another.
func impersonating(config *rest.Config, user rest.ImpersonationConfig) *rest.Config {
	other := rest.CopyConfig(config)
	other.Impersonate = user
	return other
}

func (s *scene) addAgents(t *testing.T) {
	t.Helper()
	s.configs[agentA], s.configs[agentB] = s.nodes[ofA].Credentials(), s.nodes[ofB].Credentials()
	s.configs[nodeA] = impersonating(s.configs[agentA], rest.ImpersonationConfig{UserName: "system:node:" + s.nodes[ofA].Name})
	s.configs[nodeB] = impersonating(s.configs[agentB], rest.ImpersonationConfig{UserName: "system:node:" + s.nodes[ofB].Name})
	s.configs[unbound] = s.token(t, devcluster.Namespace, devcluster.AgentServiceAccount, nil)
}

// addPeople adds the roles for people, each bound to a user, and the controller. The
// administrator plays them.
func (s *scene) addPeople(t *testing.T) {
	t.Helper()
	s.configs[root] = s.env.Admin
	for who, role := range map[string]string{viewer: "slipway-viewer", operator: "slipway-operator", boss: "slipway-admin"} {
		user := role + "-of-" + s.nodes[ofA].Name
		s.bind(t, role, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user})
		s.configs[who] = impersonating(s.env.Admin, rest.ImpersonationConfig{UserName: user})
	}
	s.configs[controller] = impersonating(s.env.Admin, rest.ImpersonationConfig{UserName: controllerAccount})
}

func (s *scene) bind(t *testing.T, role string, to rbacv1.Subject) {
	t.Helper()
	bindings := s.as(t, root).kube.RbacV1().ClusterRoleBindings()
	binding, err := bindings.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{to},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bindings.Delete(context.Background(), binding.Name, metav1.DeleteOptions{}) })
}

// addDriver adds a driver of somebody else's, in a namespace and with an account of its
// own, as a pod on A.
func (s *scene) addDriver(t *testing.T) {
	t.Helper()
	namespace, name := s.env.Namespace(t, nil).Name, "driver"
	s.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}})
	s.bind(t, "slipway-driver", rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace})
	pod := s.pods[ofA].DeepCopy()
	pod.ObjectMeta = metav1.ObjectMeta{Name: name, Namespace: namespace, Annotations: pod.Annotations}
	pod.Spec = corev1.PodSpec{
		ServiceAccountName: name, NodeName: s.nodes[ofA].Name,
		Containers: []corev1.Container{{Name: "main", Image: "example.com/driver:1"}},
	}
	s.create(t, pod)
	s.configs[driverOn] = s.token(t, namespace, name, pod)
}

// addDetector adds an account that may write all Nodes and their status, as those have who say
// what is wrong with machines or networks.
func (s *scene) addDetector(t *testing.T) {
	t.Helper()
	namespace, name := s.env.Namespace(t, nil).Name, "detector"
	s.create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}})
	roles := s.as(t, root).kube.RbacV1().ClusterRoles()
	role, err := roles.Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes", "nodes/status"}, Verbs: []string{"get", "patch"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = roles.Delete(context.Background(), role.Name, metav1.DeleteOptions{}) })
	s.bind(t, role.Name, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Name: name, Namespace: namespace})
	s.configs[detector] = s.token(t, namespace, name, nil)
}

// token are credentials of a service account, bound to a pod if there is one.
func (s *scene) token(t *testing.T, namespace, account string, pod *corev1.Pod) *rest.Config {
	t.Helper()
	request := &authenticationv1.TokenRequest{}
	if pod != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID}
	}
	token, err := s.as(t, root).kube.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	config := rest.AnonymousClientConfig(s.env.Admin)
	config.BearerToken = token.Status.Token
	return config
}
