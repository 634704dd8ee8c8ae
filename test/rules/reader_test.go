// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	drainrules "github.com/slipway-k8s/slipway/internal/drainer/rules"
	"github.com/slipway-k8s/slipway/test/harness"
)

// following is what a drain is told of a namespace.
type following struct {
	t    *testing.T
	told chan string
}

func follow(t *testing.T, self *rest.Config, namespace string) *following {
	t.Helper()
	reader, err := drainrules.New(self, devcluster.Namespace)
	if err != nil {
		t.Fatal(err)
	}
	f := &following{t: t, told: make(chan string, 100)}
	ctx, stop := context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		reader.Follow(ctx, namespace, func(rules []drain.Rule, err error) { f.told <- inWords(rules, err) })
	}()
	t.Cleanup(func() { stop(); <-ended })
	return f
}

func inWords(rules []drain.Rule, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var lines []string
	for _, r := range rules {
		lines = append(lines, fmt.Sprintf("%s %s %s/%d/%s", r.Name, r.Behavior, r.Pods, r.Order, r.Deadline))
	}
	return strings.Join(lines, ", ")
}

// await waits until it is told exactly these, whatever it is told before.
func (f *following) await(rules ...string) {
	f.t.Helper()
	want, last := strings.Join(rules, ", "), "nothing"
	giveUp := time.After(time.Minute)
	for {
		select {
		case last = <-f.told:
			if last == want {
				return
			}
		case <-giveUp:
			f.t.Fatalf("it was last told %q; want %q", last, want)
		}
	}
}

// With no rights but those of an agent.
func TestADrainIsToldTheRulesAndTheirChanges(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	self := env.Node(t, "told").Credentials()
	shop, other := env.Namespace(t, nil).Name, env.Namespace(t, nil).Name
	first := env.Rule(t, shop, "first", harness.ForApp("db"))
	env.Rule(t, other, "not-ours")

	f := follow(t, self, shop)
	f.await(shop + "/first Evict app=db/0/0s")

	second := env.Rule(t, shop, "second", harness.Behaves(slipwayv1alpha1.DrainWaitCompleted), func(s *slipwayv1alpha1.DrainRuleSpec) {
		s.Order, s.Deadline = -3, &metav1.Duration{Duration: 90 * time.Second}
	})
	f.await(shop+"/first Evict app=db/0/0s", shop+"/second WaitCompleted /-3/1m30s")

	patch := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"behavior":"Skip","order":null,"deadline":null}}`))
	if err := env.Client.Patch(t.Context(), second, patch); err != nil {
		t.Fatal(err)
	}
	f.await(shop+"/first Evict app=db/0/0s", shop+"/second Skip /0/0s")

	env.Delete(t, first)
	f.await(shop + "/second Skip /0/0s")
	env.Delete(t, second)
	f.await()
}

func TestARuleOfTheClusterFollowsTheLabelsOfNamespaces(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	self := env.Node(t, "labels").Credentials()
	namespace := env.Namespace(t, map[string]string{"rules-test/team": "b"})
	name := "team-a-" + namespace.Name
	env.Rule(t, devcluster.Namespace, name, inNamespaces(map[string]string{"rules-test/team": "a"}))
	own := env.Rule(t, namespace.Name, "own")

	f := follow(t, self, namespace.Name)
	ours, theirs := namespace.Name+"/own Evict /0/0s", devcluster.Namespace+"/"+name+" Evict /0/0s"
	f.await(ours)
	label(t, env, namespace, `"a"`)
	both := []string{ours, theirs}
	slices.Sort(both)
	f.await(both...)
	label(t, env, namespace, "null")
	f.await(ours)
	label(t, env, namespace, `"a"`)
	f.await(both...)
	env.Delete(t, own)
	f.await(theirs)
}

func label(t *testing.T, env *harness.Env, namespace *corev1.Namespace, value string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"rules-test/team":`+value+`}}}`))
	if err := env.Client.Patch(t.Context(), namespace.DeepCopy(), patch); err != nil {
		t.Fatal(err)
	}
}

func TestOneWhoMayNotReadRulesIsToldSo(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	nobody := rest.CopyConfig(env.Admin)
	nobody.Impersonate = rest.ImpersonationConfig{UserName: "nobody"}
	f := follow(t, nobody, "default")
	select {
	case got := <-f.told:
		if !strings.HasPrefix(got, "error: ") || !strings.Contains(got, `User "nobody" cannot`) {
			t.Errorf("told %q; want that it is forbidden", got)
		}
	case <-time.After(time.Minute):
		t.Error("not told anything")
	}
}
