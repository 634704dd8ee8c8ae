// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// guess is a random request, with the answer of the model: whether the API server accepts it. The model repeats what docs/security.md
// says, and reads no policy and no role.
type guess struct {
	who, what string
	may       bool
	try       try
}

// everybody sends requests in the model.
var everybody = []string{agentA, nodeA, unbound, driverOn, detector, viewer, operator, boss, controller, root}

// Permissions that several kinds share.
var (
	admins     = []string{boss, root}
	requesters = []string{operator, boss, controller, root}
)

// requestsEnv is the number of random requests. make attacks sets it; the default is small.
const requestsEnv = "SLIPWAY_REQUESTS"

func TestAdmissionAnswersAsTheModel(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	all := map[string]attempt{}
	for _, some := range []map[string]attempt{onRequests, onTheCatalogue, onNodes, onOwnEvents} {
		maps.Copy(all, some)
	}
	s.awaitPolicies(t, all)
	for _, who := range everybody { // their permissions may be seconds old, and hands are for one goroutine at a time
		s.as(t, who)
	}
	s.succeeds(t, operator, ask(ofB, "", ""))
	s.succeeds(t, boss, writeFreeze)
	s.succeeds(t, nodeA, cordon(ofA))
	s.succeeds(t, driverOn, publishFor(ofA))
	s.succeeds(t, detector, patchNode(ofB, `{"metadata":{"annotations":{"example.com/a":"b"}}}`))

	count, seed := 2_000, rand.Uint64()
	if text := os.Getenv(requestsEnv); text != "" {
		var err error
		if count, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s: %v", requestsEnv, err)
		}
	}
	t.Logf("%d requests, seed %d", count, seed)
	const workers = 8
	var running errgroup.Group
	for worker := range uint64(workers) {
		running.Go(func() error {
			random := rand.New(rand.NewPCG(seed, worker))
			for range count / workers {
				g := s.guess(random)
				if err := g.check(t.Context(), s); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := running.Wait(); err != nil {
		t.Error(err)
	}
}

// check sends the request and compares the answer. Only Forbidden is a rejection: the request is valid.
func (g guess) check(ctx context.Context, s *scene) error {
	err := g.try(ctx, s, s.hands[g.who])
	switch rejected := apierrors.IsForbidden(err); {
	case err != nil && !rejected && !apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%s: %s: %w", g.who, g.what, err)
	case rejected == g.may:
		return fmt.Errorf("%s: %s: the model says %t, the API server says %w", g.who, g.what, g.may, orAccepted(err))
	default:
		return nil
	}
}

func orAccepted(err error) error {
	if err == nil {
		return fmt.Errorf("accepted")
	}
	return err
}

// guess returns a random request of a random user.
func (s *scene) guess(random *rand.Rand) guess {
	who := pick(random, everybody...)
	kinds := []func(*rand.Rand, string) guess{
		s.newEvent, s.newEvent, s.changedEvent, s.claimedOrDeleted, s.newTransition, s.changedNode, s.changedNode, s.otherKind,
	}
	return pick(random, kinds...)(random, who)
}

func pick[T any](random *rand.Rand, from ...T) T { return from[random.IntN(len(from))] }

// newEvent is a request for an event of node B.
func (s *scene) newEvent(random *rand.Rand, who string) guess {
	e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-", Annotations: map[string]string{}, Labels: map[string]string{}}}
	e.Spec.BindingNode, e.Spec.Reason = s.nodes[ofB].Name, "fire"
	may := slices.Contains(requesters, who)
	admin, ofSlipway := slices.Contains(admins, who), who == controller

	e.Spec.TransitionName = pick(random, harness.Drain, harness.Return, s.transitions[ofB].Name)
	if e.Spec.TransitionName == s.transitions[ofB].Name {
		may = may && admin
	}
	if e.Spec.RequestedBy = pick(random, "", "", "alice"); e.Spec.RequestedBy != "" {
		may = may && ofSlipway
	}
	if name := pick(random, "", "", "", "maintenance-x", "shutdown-x", "my-maintenance-x"); name != "" {
		e.GenerateName, e.Name = "", name
		may = may && (admin || ofSlipway || name == "my-maintenance-x")
	}
	if finalizer := pick(random, "", "", "", "slipway.dev/maintenance", "slipway.dev/shutdown", "example.com/a"); finalizer != "" {
		e.Finalizers = []string{finalizer}
		may = may && (admin || ofSlipway || finalizer == "example.com/a")
	}
	if label, set := pick(random, "", "drain"), random.IntN(4) == 0; set {
		e.Labels[slipwayv1alpha1.MaintenanceEventLabel] = label
		may = may && (admin || ofSlipway)
	}
	switch annotation := pick(random, "", "", "", "slipway.dev/maintenances", "slipway.dev/shutdown", "slipway.dev/break-glass", "slipway.dev/release-claim", "example.com/large"); annotation {
	case "":
	case "slipway.dev/break-glass", "slipway.dev/release-claim":
		e.Annotations[annotation] = "true"
		may = may && admin
	case "example.com/large":
		e.Annotations[annotation] = large
		may = false
	default:
		e.Annotations[annotation] = "x"
		may = may && (admin || ofSlipway)
	}
	_, ofAMaintenance := e.Labels[slipwayv1alpha1.MaintenanceEventLabel]
	parameters := pick(random, "", "", harmless, overriding, daemons, `{"release":"All"}`)
	switch parameters {
	case overriding:
		may = may && (admin || ofSlipway && ofAMaintenance)
	case daemons:
		may = may && (admin || ofSlipway && (ofAMaintenance || slices.Contains(e.Finalizers, "slipway.dev/shutdown")))
	case `{"release":"All"}`:
		may = may && admin
	}
	if parameters != "" {
		e.Spec.Parameters = &runtime.RawExtension{Raw: []byte(parameters)}
	}
	what := fmt.Sprintf("create %s%s of %s for %q, labels %v, finalizers %v, annotations %v, parameters %s", e.GenerateName, e.Name,
		e.Spec.TransitionName, e.Spec.RequestedBy, e.Labels, e.Finalizers, slices.Sorted(maps.Keys(e.Annotations)), parameters)
	return guess{who, what, may, func(ctx context.Context, _ *scene, h hand) error {
		return h.kinds.Create(ctx, e.DeepCopy(), client.DryRunAll)
	}}
}

// changedEvent is a change of an event that waits.
func (s *scene) changedEvent(random *rand.Rand, who string) guess {
	of := pick(random, ofA, ofB)
	free := map[string]bool{
		`{"spec":{"reason":"mine"}}`:                                              true,
		`{"spec":{"gates":null}}`:                                                 true,
		`{"metadata":{"finalizers":["example.com/a"]}}`:                           true,
		`{"metadata":{"finalizers":["lifecycle.k8s.io/claim-protection"]}}`:       true,
		`{"metadata":{"labels":{"slipway.dev/maintenance":""}}}`:                  false,
		`{"metadata":{"annotations":{"slipway.dev/shutdown":"x"}}}`:               false,
		`{"metadata":{"annotations":{"slipway.dev/cordoned-again":"9"}}}`:         false,
		`{"metadata":{"finalizers":["slipway.dev/maintenance","example.com/a"]}}`: false,
	}
	patch := pick(random, slices.Sorted(maps.Keys(free))...)
	may := who == controller || slices.Contains(admins, who) || who == operator && free[patch] ||
		who == agentA && of == ofA && patch == `{"metadata":{"finalizers":["lifecycle.k8s.io/claim-protection"]}}`
	return guess{who, "change an event of " + of + ": " + patch, may, patchEvent(waitingOf(of), patch)}
}

// claimedOrDeleted is what the agent of a node does to its events.
func (s *scene) claimedOrDeleted(random *rand.Rand, who string) guess {
	of := pick(random, ofA, ofB)
	own, writesStatus := who == agentA && of == ofA, who == controller || who == root
	deletes := slices.Contains(requesters, who)
	return pick(random,
		guess{who, "claim for the agent of " + of, own || writesStatus, claim(of, of)},
		guess{who, "claim " + of + " for the other agent", writesStatus, claim(of, map[string]string{ofA: ofB, ofB: ofA}[of])},
		guess{who, "claim " + of + " for the controller", writesStatus, claimForTheController(of)},
		guess{who, "fail an event of " + of, own || writesStatus, fail(of)},
		guess{who, "delete an event of " + of + " that has ended", own || deletes, deleteEnded(of)},
		guess{who, "delete an event of " + of + " that waits", deletes, deleteEvent(waitingOf(of))},
	)
}

func (s *scene) newTransition(random *rand.Rand, who string) guess {
	t := transitionOf("")
	t.GenerateName = "attack-"
	of := pick(random, ofA, ofB, "all nodes")
	if t.Spec.AllNodes = new(true); of != "all nodes" {
		t.Spec.AllNodes, t.Spec.NodeName = nil, s.nodes[of].Name
	}
	admin := slices.Contains(admins, who)
	may := admin || of == ofA && (who == agentA || who == driverOn)
	if random.IntN(3) == 0 {
		t.GenerateName, t.Name = "", pick(random, harness.Drain, harness.Return, "drain.slm.k8s.io-shutdown")
		may = admin
	}
	if random.IntN(5) == 0 {
		t.Annotations = map[string]string{"example.com/large": large}
		may = false
	}
	return guess{
		who, fmt.Sprintf("publish %s%s for %s, large: %t", t.GenerateName, t.Name, of, t.Annotations != nil), may,
		func(ctx context.Context, _ *scene, h hand) error {
			return h.kinds.Create(ctx, t.DeepCopy(), client.DryRunAll)
		},
	}
}

// changedNode is a change of a record on a Node, or of something else there.
func (s *scene) changedNode(random *rand.Rand, who string) guess {
	of, subresource := pick(random, ofA, ofB), pick(random, "", "status")
	byNode := []string{"api-home", "cordons", "drivers", "shutdown", "shutdown-delay", "static-pods", "static-pods-host"}
	byController := []string{"maintenances", "kept-away", "shutdown-drain", "held-by", "node-lease"}
	name, place := pick(random, slices.Concat(byNode, byController, []string{"uncordoned-by", "example"})...), "annotations"
	key := "slipway.dev/" + name
	if name == "example" {
		key = "example.com/a"
	}
	if random.IntN(6) == 0 {
		name, place, key = "going-down", "labels", "slipway.dev/going-down"
	}
	writes := map[string]bool{root: true, controller: true, detector: true, nodeA: of == ofA}[who]
	may := map[string]bool{
		root:       name != "uncordoned-by",
		controller: name != "uncordoned-by" && name != "example" && name != "going-down",
		detector:   name == "example",
		nodeA:      name == "example" || name == "going-down" || slices.Contains(byNode, name),
	}[who]
	patch := fmt.Sprintf(`{"metadata":{%q:{%q:"x"}}}`, place, key)
	subresources := []string{subresource}
	if subresource == "" {
		subresources = nil
	}
	return guess{who, fmt.Sprintf("write node %s %s: %s", of, subresource, patch), writes && may, patchNode(of, patch, subresources...)}
}

// otherKind is a new object of one of the other kinds.
func (s *scene) otherKind(random *rand.Rand, who string) guess {
	admin := slices.Contains(admins, who)
	return pick(random,
		guess{who, "write a Freeze", admin, writeFreeze},
		guess{who, "write a NodeAvailabilityBudget", admin, writeBudget},
		guess{who, "write a rule of a namespace", admin, writeRule(metav1.NamespaceDefault)},
		guess{who, "write a rule of the cluster", admin, writeRule("slipway-system")},
		guess{who, "write a large rule", false, writeLargeRule},
		guess{who, "hold B", who == controller || who == root, holdNode(ofB)},
		guess{who, "maintain the nodes of a pool", who == root, maintainPool("")},
		guess{who, "maintain the nodes of a pool that others hold", who == root, maintainPool(slipwayv1alpha1.HeldNodesTakeOver)},
	)
}

// maintainPool creates a NodeMaintenance that selects nodes by a label.
func maintainPool(held slipwayv1alpha1.HeldNodes) try {
	return func(ctx context.Context, _ *scene, h hand) error {
		m := &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"}}
		m.Spec.NodeSelector = corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
			{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "attacked", Operator: corev1.NodeSelectorOpExists}}},
		}}
		m.Spec.HeldNodes = held
		return h.kinds.Create(ctx, m, client.DryRunAll)
	}
}
