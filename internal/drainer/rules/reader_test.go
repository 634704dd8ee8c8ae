// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
)

// following is a Follow that goes on.
type following struct {
	t    *testing.T
	told chan []string
	stop context.CancelFunc
	done chan struct{}
}

func follow(t *testing.T, r *Reader, namespace string) *following {
	t.Helper()
	ctx, stop := context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
	f := &following{t: t, told: make(chan []string, 10), stop: stop, done: make(chan struct{})}
	go func() {
		defer close(f.done)
		r.Follow(ctx, namespace, func(rules []drain.Rule, err error) { f.told <- inWords(rules, err) })
	}()
	t.Cleanup(f.end)
	return f
}

func (f *following) end() {
	f.stop()
	<-f.done
}

// want waits until it is told, and checks what.
func (f *following) want(lines ...string) {
	f.t.Helper()
	select {
	case got := <-f.told:
		if diff := cmp.Diff(lines, got); diff != "" {
			f.t.Errorf("told (-want +got):\n%s", diff)
		}
	case <-time.After(30 * time.Second):
		f.t.Fatalf("not told %q", lines)
	}
}

// await waits until it is told that, whatever it is told before.
func (f *following) await(lines ...string) {
	f.t.Helper()
	giveUp := time.After(30 * time.Second)
	for {
		select {
		case got := <-f.told:
			if slices.Equal(lines, got) {
				return
			}
		case <-giveUp:
			f.t.Fatalf("not told %q", lines)
		}
	}
}

func (s *server) add(t *testing.T, namespace, name, spec string) {
	t.Helper()
	r := ruleOf(t, namespace, name, spec)
	r.UID = types.UID(namespace + name)
	r.TypeMeta = metav1.TypeMeta{APIVersion: "slipway.dev/v1alpha1", Kind: "DrainRule"}
	s.change(func() { s.objects[rulesPath] = append(s.objects[rulesPath], r) })
}

func TestWhereDrainRulesAreNotInstalledThereAreNone(t *testing.T) {
	s, reader := newServer(t)
	s.status[rulesPath] = 404
	f := follow(t, reader, "shop")
	f.want()
	f.end()
	if diff := cmp.Diff([]string{rulesPath + "?"}, s.requests()); diff != "" {
		t.Errorf("what it asked for (-want +got):\n%s", diff)
	}
}

func TestRulesThatCannotBeReadAreAnErrorUntilTheyCan(t *testing.T) {
	s, reader := newServer(t)
	s.add(t, "shop", "a", `{podSelector: {}, behavior: Skip}`)
	s.status[rulesPath] = 403
	f := follow(t, reader, "shop")
	f.want("error: no")
	s.change(func() { delete(s.status, rulesPath) })
	f.await("own shop/a: Skip  order 0 deadline 0s")
}

func TestOneWatchOfRulesServesAllWhoFollow(t *testing.T) {
	s, reader := newServer(t)
	s.add(t, "shop", "a", `{podSelector: {}, behavior: Skip}`)
	s.add(t, "own", "all", `{podSelector: {}, namespaceSelector: {}, behavior: Evict, deadline: 1h}`)
	const all = "cluster own/all: Evict  order 0 deadline 1h0m0s"
	first, second := follow(t, reader, "shop"), follow(t, reader, "other")
	first.want(all, "own shop/a: Skip  order 0 deadline 0s")
	second.want(all)
	first.end()
	third := follow(t, reader, "third")
	third.want(all)
	if diff := cmp.Diff([]string{rulesPath + "?"}, s.requests()); diff != "" {
		t.Errorf("watches (-want +got):\n%s", diff)
	}
	second.end()
	third.end()
	s.await(t, func() bool { return s.open == 0 })
	follow(t, reader, "shop").want(all, "own shop/a: Skip  order 0 deadline 0s")
	if got := len(s.requests()); got != 2 {
		t.Errorf("%d watches; want one more for who comes after all have gone", got)
	}
}

func TestAFreezeIsARuleForAllPodsOfItsNodes(t *testing.T) {
	s, reader := newServer(t)
	s.add(t, "shop", "a", `{podSelector: {}, behavior: Skip}`)
	f := follow(t, reader, "shop")
	const own = "own shop/a: Skip  order 0 deadline 0s"
	f.want(own)
	freeze := objectOf(freezesPath, metav1.ObjectMeta{Name: "sale", UID: "u"}).(*slipwayv1alpha1.Freeze)
	freeze.Spec.Reason, freeze.Spec.Selector.MatchLabels = "Black Friday", map[string]string{"pool": "web"}
	s.change(func() { s.objects[freezesPath] = []any{freeze} })
	late := follow(t, reader, "other") // the watch of the first one has begun
	late.want()
	f.end()
	late.end()
	s.await(t, func() bool { return s.open == 0 })
	follow(t, reader, "shop").want("cluster sale: Freeze  order 0 deadline 0s why Black Friday nodes pool=web", own)
}

func TestTheLabelsOfTheNamespaceAreWatchedWhereARuleSelectsByThem(t *testing.T) {
	s, reader := newServer(t)
	s.add(t, "own", "hers", `{podSelector: {}, namespaceSelector: {matchLabels: {team: a}}, behavior: Skip}`)
	s.objects[namespacesPath] = []any{objectOf(namespacesPath, metav1.ObjectMeta{Name: "shop", UID: "u", Labels: map[string]string{"team": "a"}})}
	f := follow(t, reader, "shop")
	f.want("cluster own/hers: Skip  order 0 deadline 0s")
	f.end()
	if diff := cmp.Diff([]string{rulesPath + "?", namespacesPath + "?metadata.name=shop"}, s.requests()); diff != "" {
		t.Errorf("watches (-want +got):\n%s", diff)
	}
	s.await(t, func() bool { return s.open == 0 })
}

func TestLabelsThatCannotBeReadAreAnError(t *testing.T) {
	s, reader := newServer(t)
	s.add(t, "own", "hers", `{podSelector: {}, namespaceSelector: {matchLabels: {team: a}}, behavior: Skip}`)
	s.status[namespacesPath] = 403
	f := follow(t, reader, "shop")
	f.want("error: no")
	s.change(func() { delete(s.status, namespacesPath) })
	f.await()
}
