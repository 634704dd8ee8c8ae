// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
)

const keepAway = "daemonsets/keep-away.yaml"

// daemon is a pod as a DaemonSet's controller creates it.
type daemon struct{ namespace, node, owner, labels, spec string }

func (d daemon) String() string {
	owner := "{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: d, controller: true}"
	if d.owner != "" {
		owner = d.owner
	}
	namespace, node := "kube-system", "a"
	if d.namespace != "" {
		namespace = d.namespace
	}
	if d.node != "" {
		node = d.node
	}
	return fmt.Sprintf("{metadata: {generateName: d-, namespace: %s, labels: {%s}, ownerReferences: [%s]}, spec: {%s affinity: {nodeAffinity: "+
		"{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [%s]}]}]}}}}}",
		namespace, d.labels, owner, d.spec, node)
}

// keepsAway is node a, with what it says that it keeps away.
func keepsAway(which string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "a", Labels: map[string]string{"slipway.dev/kept-away": "daemonsets"}, Annotations: map[string]string{"slipway.dev/kept-away": which},
	}}
}

func isGated(o *unstructured.Unstructured) bool {
	gates, _, _ := unstructured.NestedSlice(o.Object, "spec", "schedulingGates")
	gated := slices.ContainsFunc(gates, func(g any) bool { return g.(map[string]any)["name"] == "slipway.dev/maintenance" })
	return gated && o.GetLabels()["slipway.dev/kept-away"] == "true"
}

func TestWhichPodsStayAway(t *testing.T) {
	policy := newMutator(t, keepAway)
	const all, some, none = "2147483647", "1000 app In (a,b)&tier Exists ()", "0 app In (nobody)"
	for name, tc := range map[string]struct {
		which string
		pod   string
		want  bool
	}{
		"a pod of a DaemonSet":                     {all, daemon{}.String(), true},
		"one that is critical":                     {all, daemon{spec: "priority: 2000001000,"}.String(), true},
		"one of the highest priority":              {"1000", daemon{spec: "priority: 1000,"}.String(), true},
		"one of a higher priority":                 {"1000", daemon{spec: "priority: 1001,"}.String(), false},
		"one without a priority":                   {"0", daemon{}.String(), true},
		"one without a priority, and only less":    {"-1", daemon{}.String(), false},
		"one of less than nothing":                 {"-5", daemon{spec: "priority: -5,"}.String(), true},
		"one with another gate":                    {all, daemon{spec: "schedulingGates: [{name: b}],"}.String(), true},
		"one that tolerates everything":            {all, daemon{spec: "tolerations: [{operator: Exists}],"}.String(), true},
		"one for another node":                     {all, daemon{node: "b"}.String(), false},
		"Slipway's own":                            {all, daemon{namespace: "slipway-system"}.String(), false},
		"of a ReplicaSet":                          {all, daemon{owner: "{apiVersion: apps/v1, kind: ReplicaSet, name: d, uid: d, controller: true}"}.String(), false},
		"of another DaemonSet":                     {all, daemon{owner: "{apiVersion: apps.kruise.io/v1, kind: DaemonSet, name: d, uid: d, controller: true}"}.String(), false},
		"of one that does not control it":          {all, daemon{owner: "{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: d}"}.String(), false},
		"of nobody":                                {all, "{metadata: {name: p, namespace: n}, spec: {}}", false},
		"that is bound already":                    {all, daemon{spec: "nodeName: a,"}.String(), false},
		"selected":                                 {some, daemon{labels: "app: b, tier: x"}.String(), true},
		"selected, of a higher priority":           {some, daemon{labels: "app: b, tier: x", spec: "priority: 2000,"}.String(), false},
		"selected by one of two":                   {some, daemon{labels: "app: b"}.String(), false},
		"by another value":                         {some, daemon{labels: "app: c, tier: x"}.String(), false},
		"without labels":                           {some, daemon{}.String(), false},
		"of the second entry":                      {none + ";" + all, daemon{}.String(), true},
		"of none of the entries":                   {none + ";" + some, daemon{}.String(), false},
		"of a Node that says nothing":              {"", daemon{}.String(), false},
		"of a Node that says what nobody can read": {"x;;" + " ", daemon{}.String(), false},
		"of one that says something readable too":  {"x;5", daemon{}.String(), true},
	} {
		t.Run(name, func(t *testing.T) {
			after := (request{alice, "pods", "", tc.pod}).after(t, policy, keepsAway(tc.which))
			if got := isGated(after); got != tc.want {
				t.Errorf("it is kept away: %t, want %t: %v", got, tc.want, after.Object)
			}
			again := (request{alice, "pods", "", toYAML(t, after)}).after(t, policy, keepsAway(tc.which))
			if gates, _, _ := unstructured.NestedSlice(again.Object, "spec", "schedulingGates"); len(gates) > 2 {
				t.Errorf("asked again, it has the gates %v", gates)
			}
		})
	}
}

// TestASelectorSelectsWhatItSelects compares what the policy reads with what the API's own
// selectors say.
func TestASelectorSelectsWhatItSelects(t *testing.T) {
	policy := newMutator(t, keepAway)
	selectors := map[string]string{
		"app In (a)": "app in (a)", "app In (a,b)": "app in (a,b)", "app In ()": "app in ()", "app In (,a)": "app in (,a)",
		"app NotIn (a,b)": "app notin (a,b)", "app NotIn ()": "app notin ()", "app Exists ()": "app", "app DoesNotExist ()": "!app",
		"example.com/app In (a)": "example.com/app in (a)", "app In (a)&tier NotIn (x)": "app in (a), tier notin (x)",
	}
	sets := []string{"", "app: a", "app: b", "app: c", "app: ''", "example.com/app: a", "app: a, tier: x", "app: a, tier: z", "tier: x"}
	for text, selector := range selectors {
		parsed, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range sets {
			pod := (request{alice, "pods", "", daemon{labels: set}.String()})
			want := parsed.Matches(labels.Set(object(t, pod.now).(*unstructured.Unstructured).GetLabels()))
			if got := isGated(pod.after(t, policy, keepsAway("0 "+text))); got != want {
				t.Errorf("%q of {%s}: kept away %t, want %t", text, set, got, want)
			}
		}
	}
}

// TestTheLongestListCanBeRead has as much to read as there can be.
func TestTheLongestListCanBeRead(t *testing.T) {
	policy := newMutator(t, keepAway)
	entry := "1000 " + strings.Repeat("app In (a)&", 9) + "app In (nobody)"
	long := strings.Repeat(entry+";", 16<<10/len(entry))
	after := (request{alice, "pods", "", daemon{labels: "app: a"}.String()}).after(t, policy, keepsAway(long+"0"))
	if !isGated(after) {
		t.Error("the last entry of a long list is not read")
	}
}

func TestHowPodsAreKeptAway(t *testing.T) {
	policy := documents[admissionregistrationv1.MutatingAdmissionPolicy](t, keepAway, "MutatingAdmissionPolicy")[0]
	if p := policy.Spec.FailurePolicy; p == nil || *p != admissionregistrationv1.Ignore {
		t.Error("what cannot be evaluated keeps the pods of all DaemonSets off all nodes")
	}
	binding := documents[admissionregistrationv1.MutatingAdmissionPolicyBinding](t, keepAway, "MutatingAdmissionPolicyBinding")[0]
	if a := binding.Spec.ParamRef.ParameterNotFoundAction; a == nil || *a != admissionregistrationv1.AllowAction {
		t.Error("without such Nodes, no pod can be created")
	}
	selector, err := metav1.LabelSelectorAsSelector(binding.Spec.ParamRef.Selector)
	if err != nil || !selector.Matches(labels.Set(keepsAway("").Labels)) || selector.Matches(labels.Set{}) {
		t.Errorf("it selects %v: %v", selector, err)
	}
}

func TestTheControllerLetsPodsBack(t *testing.T) {
	const pods, spec, metadata = "pods", "spec: the controller removes the scheduling gate", "metadata: the controller changes none"
	pod := func(gates, more, meta string) string {
		return fmt.Sprintf("{metadata: {name: p, labels: {slipway.dev/kept-away: 'true', app: a}%s}, spec: {%s priority: 5%s}}", meta, gates, more)
	}
	const ours, theirs = "{name: slipway.dev/maintenance}", "{name: b}"
	gates := func(of ...string) string { return "schedulingGates: [" + strings.Join(of, ", ") + "]," }
	kept, free := pod(gates(ours), "", ""), pod("", "", "")
	surges := controller.with("surge")
	refusals(t, "controller-pods.yaml", map[string]refused{
		"the gate goes":                     {request{controller, pods, kept, free}, ""},
		"an empty list is left":             {request{controller, pods, kept, pod(gates(), "", "")}, ""},
		"of several":                        {request{controller, pods, pod(gates(theirs, ours), "", ""), pod(gates(theirs), "", "")}, ""},
		"another one as well":               {request{controller, pods, pod(gates(theirs, ours), "", ""), free}, spec},
		"another one":                       {request{controller, pods, pod(gates(theirs), "", ""), free}, spec},
		"one is added":                      {request{controller, pods, free, kept}, spec},
		"and the spec":                      {request{controller, pods, kept, pod("", ", hostNetwork: true", "")}, spec},
		"the spec of any pod":               {request{controller, pods, free, pod("", ", hostNetwork: true", "")}, spec},
		"the spec of any pod, if it surges": {request{surges, pods, free, pod("", ", hostNetwork: true", "")}, spec},
		"something of it is taken away":     {request{controller, pods, pod("", ", hostNetwork: true", ""), free}, spec},
		"and a label":                       {request{controller, pods, kept, strings.Replace(free, "app: a", "app: b", 1)}, metadata},
		"an annotation":                     {request{controller, pods, free, pod("", "", ", annotations: {a: b}")}, metadata},
		"an owner":                          {request{controller, pods, free, pod("", "", ", ownerReferences: [{kind: Node, name: a}]")}, metadata},
		"a finalizer":                       {request{controller, pods, free, pod("", "", ", finalizers: [a.com/b]")}, metadata},
		"a label, if it surges":             {request{surges, pods, free, strings.Replace(free, "app: a", "app: b", 1)}, ""}, // surge.yaml says which
		"nothing":                           {request{controller, pods, kept, kept}, ""},
		"a user does anything":              {request{alice, pods, kept, pod("", ", hostNetwork: true", ", annotations: {a: b}")}, ""},
	})
	refusals(t, "evictions/surge.yaml", map[string]refused{
		"the gate goes, where it surges": {request{surges, pods, kept, free}, ""},
		"and the spec, where it surges":  {request{surges, pods, kept, pod("", ", hostNetwork: true", "")}, "spec: the controller"},
		"gates of others, there":         {request{surges, pods, pod(gates(theirs), "", ""), free}, "spec: the controller"},
	})
}

func toYAML(t *testing.T, o *unstructured.Unstructured) string {
	t.Helper()
	text, err := o.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
