// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
)

func nodes(all ...*corev1.Node) []*corev1.Node { return all }

func TestAReplacementRunsWhereAllThatItRequiresIsMet(t *testing.T) {
	const zone = "zone"
	w0 := node("w0", "zone=a")
	port := func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} }
	initPort := func(restarts *corev1.ContainerRestartPolicy) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.InitContainers = []corev1.Container{{Name: "first", RestartPolicy: restarts, Ports: []corev1.ContainerPort{{HostPort: 80}}}}
		}
	}
	local := func(p *corev1.Pod) {
		p.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
		}}}
	}
	for name, tc := range map[string]struct {
		facts Facts
		want  string
	}{
		"there is room": {facts(nodes(w0, node("w1")), pod("web", "w0")), "web: Evict, then on w1"},
		"no other node": {facts(nodes(w0), pod("web", "w0")), "web: Evict, then nowhere; 1 drained as well"},
		"a cordon":      {facts(nodes(w0, cordoned(node("w1"))), pod("web", "w0")), "web: Evict, then nowhere; 1 cordoned; 1 drained as well"},
		"a taint": {
			facts(nodes(w0, tainted(node("w1"), corev1.TaintEffectNoSchedule)), pod("web", "w0")),
			"web: Evict, then nowhere; 1 drained as well; 1 taint dedicated=gpu:NoSchedule, which it does not tolerate",
		},
		"a taint that is tolerated": {
			facts(nodes(w0, tainted(node("w1"), corev1.TaintEffectNoExecute)), pod("web", "w0", func(p *corev1.Pod) {
				p.Spec.Tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
			})), "web: Evict, then on w1",
		},
		"a taint that only discourages": {facts(nodes(w0, tainted(node("w1"), corev1.TaintEffectPreferNoSchedule)), pod("web", "w0")), "web: Evict, then on w1"},
		"a node selector": {
			facts(nodes(w0, node("w1"), node("w2", "disk=ssd")), pod("web", "w0", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} })),
			"web: Evict, then on w2",
		},
		"a node affinity": {
			facts(nodes(w0, node("w1", "zone=b")), pod("web", "w0", func(p *corev1.Pod) {
				p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
					NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: zone, Operator: corev1.NodeSelectorOpNotIn, Values: []string{"b"}}}}},
				}}}
			})), "web: Evict, then nowhere; 1 drained as well; 1 excluded by its node selector or affinity",
		},
		"what pods there have asked for is not free": {
			facts(nodes(w0, node("w1")), pod("web", "w0", cpu("2")), pod("db", "w1", cpu("2500m"))),
			"web: Evict, then nowhere; 1 drained as well; 1 too little cpu",
		},
		"what finished pods asked for is": {
			facts(nodes(w0, node("w1")), pod("web", "w0", cpu("2")), pod("db", "w1", cpu("2500m"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })),
			"web: Evict, then on w1",
		},
		"as many pods as there may be": {
			facts(nodes(w0, node("w1")), append([]*corev1.Pod{pod("web", "w0")}, slices.Repeat([]*corev1.Pod{pod("db", "w1")}, 10)...)...),
			"web: Evict, then nowhere; 1 as many pods as it may have; 1 drained as well",
		},
		"a host port that is taken": {
			facts(nodes(w0, node("w1")), pod("web", "w0", port), pod("other", "w1", port)),
			"web: Evict, then nowhere; 1 a host port is taken; 1 drained as well",
		},
		"a host port that a sidecar has": {
			facts(nodes(w0, node("w1")), pod("web", "w0", port), pod("other", "w1", initPort(new(corev1.ContainerRestartPolicyAlways)))),
			"web: Evict, then nowhere; 1 a host port is taken; 1 drained as well",
		},
		"a host port that a sidecar wants": {
			facts(nodes(w0, node("w1")), pod("web", "w0", initPort(new(corev1.ContainerRestartPolicyAlways))), pod("other", "w1", port)),
			"web: Evict, then nowhere; 1 a host port is taken; 1 drained as well",
		},
		"a host port that is only needed to begin": {
			facts(nodes(w0, node("w1")), pod("web", "w0", port), pod("other", "w1", initPort(nil))), "web: Evict, then on w1",
		},
		"it keeps away from others": {
			facts(nodes(w0, node("w1"), node("w2")), pod("web", "w0", apartFrom("db", corev1.LabelHostname)), pod("db", "w1")),
			"web: Evict, then on w2",
		},
		"others keep away from it": {
			facts(nodes(w0, node("w1", "zone=b"), node("w2", "zone=b")), pod("web", "w0"), pod("db", "w1", apartFrom("web", zone))),
			"web: Evict, then nowhere; 2 beside pods that anti-affinity keeps apart; 1 drained as well",
		},
		"it runs beside others": {
			facts(nodes(w0, node("w1", "zone=b"), node("w2", "zone=c"), node("w3", "zone=c")), pod("web", "w0", beside("db", zone)), pod("db", "w3")),
			"web: Evict, then on w2",
		},
		"those beside which it would run leave with it": {
			facts(nodes(w0, node("w1", "zone=b")), pod("web", "w0", beside("db", zone)), pod("db", "w0", cpu("8"))),
			"db: Evict, then nowhere; 1 drained as well; 1 too little cpu",
		},
		"the first of those who run together finds none": {
			facts(nodes(w0, node("w1", "zone=b")), pod("web", "w0", beside("web", zone))), "web: Evict, then on w1",
		},
		"those of another namespace": {
			facts(nodes(w0, node("w1", "zone=b")), pod("web", "w0", beside("db", zone, func(t *corev1.PodAffinityTerm) {
				t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
			})), pod("db", "w1", func(p *corev1.Pod) { p.Namespace = "data" })).with(func(f *Facts) {
				f.Namespaces = map[string]labels.Set{"data": {"team": "a"}}
			}), "web: Evict, then on w1",
		},
		"spread over zones": {
			facts(nodes(w0, node("w1", "zone=b"), node("w2", "zone=c")), pod("web", "w0", spreadBy(zone)), pod("web", "w1")), "web: Evict, then on w2",
		},
		"a node that is drained is a domain without pods": {
			facts(nodes(w0, node("w1"), node("w2")), pod("web", "w0", spreadBy(corev1.LabelHostname)), pod("web", "w1"), pod("web", "w2")),
			"web: Evict, then nowhere; 2 too many of its pods in the same kubernetes.io/hostname; 1 drained as well",
		},
		"fewer domains than there must be": {
			facts(nodes(w0, node("w1", "zone=b")), pod("web", "w0", spreadBy(zone, func(c *corev1.TopologySpreadConstraint) { c.MinDomains = new(int32(3)) })), pod("web", "w1")),
			"web: Evict, then nowhere; 1 drained as well; 1 too many of its pods in the same zone",
		},
		"a node without the label that it is spread by": {
			facts(nodes(w0, node("w1")), pod("web", "w0", spreadBy(zone))),
			"web: Evict, then nowhere; 1 drained as well; 1 without label zone, which it is spread by",
		},
		"a volume that stays with its node": {
			facts(nodes(w0, node("w1")), pod("db", "w0", local)).with(func(f *Facts) {
				f.Claims = map[types.NamespacedName]*corev1.PersistentVolumeClaim{{Namespace: "shop", Name: "data"}: {Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "pv-1"}}}
				f.Volumes = map[string]*corev1.PersistentVolume{"pv-1": {ObjectMeta: metav1.ObjectMeta{Name: "pv-1"}, Spec: corev1.PersistentVolumeSpec{NodeAffinity: &corev1.VolumeNodeAffinity{
					Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"w0"}}}}}},
				}}}}
			}), "db: Evict, then nowhere; 1 drained as well; 1 volume pv-1 is not reachable from there",
		},
		"a claim that is gone": {
			facts(nodes(w0, node("w1")), pod("db", "w0", local)).with(func(f *Facts) {
				f.Claims, f.Volumes = map[types.NamespacedName]*corev1.PersistentVolumeClaim{}, map[string]*corev1.PersistentVolume{}
			}), "db: Evict, then nowhere; 1 claim data does not exist; 1 drained as well",
		},
		"nobody starts it again": {
			facts(nodes(w0, node("w1")), pod("bare", "w0", func(p *corev1.Pod) { p.OwnerReferences = nil })), "bare: Evict",
		},
		"the cluster could not be read": {
			facts(nodes(w0), pod("web", "w0")).with(func(f *Facts) { f.Nodes = nil }), "web: Evict",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if got := planned(t, tc.facts)[0]; got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestReplacementsDoNotClaimTheSameRoom(t *testing.T) {
	f := facts(nodes(node("w0"), node("w1"), node("w2")),
		pod("small", "w0", cpu("1")), pod("large", "w0", cpu("3")), pod("medium", "w0", cpu("2")), pod("toomuch", "w0", cpu("3")))
	want := []string{
		"small: Evict, then on w1", "large: Evict, then on w1", "medium: Evict, then nowhere; 2 too little cpu; 1 drained as well",
		"toomuch: Evict, then on w2",
	}
	got := planned(t, f)
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReplacementsKeepAwayFromEachOther(t *testing.T) {
	apart := apartFrom("web", corev1.LabelHostname)
	f := facts(nodes(node("w0"), node("w1"), node("w2")), pod("web", "w0", apart), pod("web", "w0", apart), pod("web", "w0", apart))
	want := []string{
		"web: Evict, then on w1", "web: Evict, then on w2",
		"web: Evict, then nowhere; 2 beside pods that anti-affinity keeps apart; 1 drained as well",
	}
	if diff := cmp.Diff(want, planned(t, f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A budget that allows one goes on only while what leaves comes up again.
func TestAPodThatFitsNowhereHoldsTheOthersOfItsBudget(t *testing.T) {
	all := []*corev1.Pod{pod("web", "w0", cpu("2")), pod("web", "w0", cpu("2")), pod("web", "w0", cpu("2")), pod("web", "w0", cpu("2"))}
	f := facts(nodes(node("w0"), node("w1")), all...).with(budget("web", 1, 4))
	f.Pods = append(f.Pods, pod("db", "w1", cpu("1")))
	want := []string{
		"web: Evict, then on w1", "web: EvictLater, then nowhere; 1 drained as well; 1 too little cpu", "web: Blocked", "web: Blocked",
	}
	if diff := cmp.Diff(want, planned(t, f)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAPredictionSaysWhatItDidNotLookAt(t *testing.T) {
	f := facts(nodes(node("w0"), node("w1")), pod("web", "w0", func(p *corev1.Pod) {
		p.Spec.SchedulerName = "bins"
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}}
		p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}}}
	}))
	f.Unread = []string{"budgets of namespace shop cannot be read"}
	p, err := Plan(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"scheduler bins", "devices (dynamic resource allocation), which some of the pods", "generic ephemeral volumes, which some of the pods", "preemption", "autoscaler", "webhooks"} {
		if !strings.Contains(strings.Join(p.NotLookedAt, "\n"), want) {
			t.Errorf("nothing is said of %q: %q", want, p.NotLookedAt)
		}
	}
	if diff := cmp.Diff(f.Unread, p.Caveats); diff != "" {
		t.Errorf("caveats (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(&Replacements{Total: 1, Fit: []Share{{Node: "w1", Pods: 1}}}, p.Replacements); diff != "" {
		t.Errorf("replacements (-want +got):\n%s", diff)
	}
}

func TestAPodIsCalledAfterItsWorkload(t *testing.T) {
	hashed := pod("cart", "w0", func(p *corev1.Pod) {
		p.Labels["pod-template-hash"], p.OwnerReferences[0].Name = "6d5b", "cart-6d5b"
	})
	for want, p := range map[string]*corev1.Pod{
		"Deployment shop/cart": hashed,
		"ReplicaSet shop/cart": pod("cart", "w0"),
		"":                     pod("cart", "w0", func(p *corev1.Pod) { p.OwnerReferences = nil }),
	} {
		if got := podOf(drain.PodOutlook{Pod: p}, nil).Owner; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAPlanOfWhatCannotBeAskedForIsRefused(t *testing.T) {
	f := facts(nodes(node("w0")))
	f.Drains.Nodes[0].Request = drain.Request{PodTimeout: -1}
	if _, err := Plan(f); err == nil {
		t.Error("it was not refused")
	}
}
