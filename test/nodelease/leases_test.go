// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/nodelease"
	"github.com/slipway-k8s/slipway/test/harness"
)

// node creates one that nobody runs anything on.
func (s *scene) node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node, err := s.as(t, "").CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.DeleteQuietly(node) })
	return node
}

// lease is what the server has.
func (s *scene) lease(t *testing.T, node string) *coordinationv1.Lease {
	t.Helper()
	lease, err := s.as(t, "").CoordinationV1().Leases(nodelease.Namespace).Get(t.Context(), node, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func withoutANamespace(t *testing.T, s *scene) {
	t.Helper()
	s.node(t, "early")
	leases := s.leases(t, "")
	_, err := leases.Acquire(t.Context(), "early", "fwup", "", time.Minute)
	if err == nil || !strings.Contains(err.Error(), "there is no namespace kube-node-maintenance: create it") {
		t.Errorf("the error is %v", err)
	}
	if all, err := leases.List(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("there are %v, %v", all, err)
	}
}

// Several rounds: in the first, the Lease is created; in the others, it is updated.
func oneOfMany(t *testing.T, s *scene) {
	const holders, rounds = 8, 5
	s.node(t, "contended")
	for round := range rounds {
		winners := compete(t, s, holders)
		if len(winners) != 1 {
			t.Fatalf("in round %d, %q have it", round, winners)
		}
		lease := s.lease(t, "contended")
		if *lease.Spec.HolderIdentity != winners[0] || *lease.Spec.LeaseTransitions != int32(round) {
			t.Errorf("in round %d, the Lease is of %s with %d transitions, and %s has won", round, *lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions, winners[0])
		}
		if err := s.leases(t, "").Release(t.Context(), "contended", winners[0]); err != nil {
			t.Fatal(err)
		}
	}
}

func compete(t *testing.T, s *scene, holders int) (winners []string) {
	t.Helper()
	var mutex sync.Mutex
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range holders {
		name, leases := fmt.Sprintf("tool-%d", i), s.leases(t, "")
		all.Go(func() {
			<-begin
			held, err := leases.Acquire(t.Context(), "contended", name, "to win", time.Minute)
			mutex.Lock()
			defer mutex.Unlock()
			taken, isTaken := errors.AsType[*nodelease.TakenError](err)
			switch {
			case err == nil && held.Holder == name && held.Purpose == "to win":
				winners = append(winners, name)
			case !isTaken || taken.Held.Holder == name:
				t.Errorf("%s has %+v, %v", name, held, err)
			}
		})
	}
	close(begin)
	all.Wait()
	return winners
}

func goesWithItsNode(t *testing.T, s *scene) {
	node := s.node(t, "leaving")
	leases := s.leases(t, "")
	if _, err := leases.Acquire(t.Context(), "leaving", "fwup", "", time.Hour); err != nil {
		t.Fatal(err)
	}
	s.Delete(t, node)
	harness.AwaitNone[*coordinationv1.Lease](t, s.Env, &coordinationv1.LeaseList{}, client.InNamespace(nodelease.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", "leaving")})
	if err := leases.Release(t.Context(), "leaving", "fwup"); !errors.Is(err, nodelease.ErrNotHolder) {
		t.Errorf("what went with its node is given back: %v", err)
	}
	if _, err := leases.Acquire(t.Context(), "leaving", "fwup", "", time.Hour); !apierrors.IsNotFound(err) {
		t.Errorf("a node that is not there has a lease: %v", err)
	}
	again := s.node(t, "leaving")
	if _, err := leases.Acquire(t.Context(), "leaving", "other", "", time.Hour); err != nil {
		t.Fatal(err)
	}
	if owners := s.lease(t, "leaving").OwnerReferences; len(owners) != 1 || owners[0].UID != again.UID {
		t.Errorf("the owners are %v", owners)
	}
}

func givenBack(t *testing.T, s *scene) {
	s.node(t, "returned")
	leases := s.leases(t, "")
	taken, err := leases.Acquire(t.Context(), "returned", "fwup", "firmware", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	renewed, err := leases.Renew(t.Context(), "returned", "fwup", "firmware", time.Hour)
	if err != nil || !renewed.Since.Equal(taken.Since) || !renewed.Until.After(taken.Until) {
		t.Errorf("renewed it is %+v, %v", renewed, err)
	}
	if err := leases.Release(t.Context(), "returned", "other"); !errors.Is(err, nodelease.ErrNotHolder) {
		t.Errorf("another gives it back: %v", err)
	}
	if err := leases.Release(t.Context(), "returned", "fwup"); err != nil {
		t.Fatal(err)
	}
	if standing, err := leases.Get(t.Context(), "returned"); err != nil || standing.Taken || standing.Held.Holder != "" {
		t.Errorf("given back it is %+v, %v", standing, err)
	}
	if _, err := leases.Renew(t.Context(), "returned", "fwup", "", time.Minute); !errors.Is(err, nodelease.ErrNotHolder) {
		t.Errorf("what was given back is renewed: %v", err)
	}
	// As the proposal has it, which is why the package does it otherwise.
	lease := s.lease(t, "returned")
	lease.Spec.LeaseDurationSeconds = new(int32(0))
	if _, err := s.as(t, "").CoordinationV1().Leases(nodelease.Namespace).Update(t.Context(), lease, metav1.UpdateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("the server takes a duration of 0: %v", err)
	}
}

func stoppedWhenBroken(t *testing.T, s *scene) {
	s.node(t, "kept")
	leases := s.leases(t, "")
	err := leases.Keep(t.Context(), "kept", "fwup", "", 3*time.Second, func(ctx context.Context) error {
		standing, err := leases.Get(ctx, "kept")
		if err != nil || !standing.Taken || standing.Held.Holder != "fwup" {
			t.Errorf("while it is kept it is %+v, %v", standing, err)
		}
		if err := leases.Release(ctx, "kept", "fwup"); err != nil {
			t.Error(err)
		}
		<-ctx.Done()
		return context.Cause(ctx)
	})
	if !errors.Is(err, nodelease.ErrLost) || !errors.Is(err, nodelease.ErrNotHolder) {
		t.Errorf("the error is %v", err)
	}
	if err := leases.Keep(t.Context(), "kept", "fwup", "", time.Minute, func(context.Context) error { return nil }); err != nil {
		t.Error(err)
	}
	if standing, err := leases.Get(t.Context(), "kept"); err != nil || standing.Held.Holder != "" {
		t.Errorf("after the work it is %+v, %v", standing, err)
	}
}

func rolesOfPeople(t *testing.T, s *scene) {
	s.node(t, "guarded")
	s.Kubectl(t, "create", "rolebinding", "holders", "--namespace="+nodelease.Namespace, "--role=slipway-lease-holder", "--user=ada")
	s.Kubectl(t, "create", "rolebinding", "viewers", "--namespace="+nodelease.Namespace, "--role=slipway-lease-viewer", "--user=eve")
	s.Kubectl(t, "create", "clusterrole", "nodes", "--verb=get", "--resource=nodes")
	s.Kubectl(t, "create", "clusterrolebinding", "nodes", "--clusterrole=nodes", "--user=ada", "--user=eve")
	ada, eve := s.leases(t, "ada"), s.leases(t, "eve")
	// A new right is in force when the authorizer's watch has seen it.
	s.awaitRight(t, "eve", "list")
	s.awaitRight(t, "ada", "update")
	if _, err := ada.Acquire(t.Context(), "guarded", "ada", "", time.Minute); err != nil {
		t.Error(err)
	}
	if standing, err := eve.Get(t.Context(), "guarded"); err != nil || standing.Held.Holder != "ada" {
		t.Errorf("eve sees %+v, %v", standing, err)
	}
	if err := eve.Release(t.Context(), "guarded", "ada"); !apierrors.IsForbidden(err) {
		t.Errorf("eve gives it back: %v", err)
	}
	if err := ada.Release(t.Context(), "guarded", "ada"); err != nil {
		t.Error(err)
	}
	for _, user := range []string{"ada", "eve"} {
		if _, err := s.as(t, user).CoordinationV1().Leases("kube-system").List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("%s lists leases that are not of nodes: %v", user, err)
		}
	}
	if err := s.as(t, "ada").CoordinationV1().Leases(nodelease.Namespace).Delete(t.Context(), "guarded", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("ada deletes it: %v", err)
	}
}
