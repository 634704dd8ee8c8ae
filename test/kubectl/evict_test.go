// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	evictioncontroller "github.com/slipway-k8s/slipway/internal/eviction/controller"
	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestWithoutTheAPIEvictSaysWhatAddsIt(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	p := env.Node(t, "cli-evict-not-served").Pod("cli-evict-not-served", quick())
	for _, arguments := range [][]string{{"evictions", "-A"}, {"evict", p.Name}, {"evict", p.Name, "--withdraw"}} {
		_, trouble := run(t, env, 1, arguments...)
		wantTexts(t, trouble, "error: this cluster does not serve EvictionRequests", "kubectl slipway install --eviction-requests")
	}
}

func TestWithoutAControllerEvictSaysSoAndTakesItsRequestBack(t *testing.T) {
	t.Parallel()
	s := newStage(t, false)
	s.pod("p")
	_, trouble := s.run(1, "evict", "p")
	wantTexts(t, trouble, "error: no controller has acted on the EvictionRequest for 30s", "kubectl slipway install --eviction-requests", "the request was withdrawn")
	out, _ := s.run(0, "evictions")
	wantTexts(t, out, "No eviction of a pod is requested.")
}

func TestEvict(t *testing.T) {
	for name, builtin := range map[string]bool{"built in": true, "CRDs": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, builtin)
			s.runEvictions()
			t.Run("follows the responders until the pod is gone", func(t *testing.T) { s.of(t).untilThePodIsGone() })
			t.Run("takes its request back", func(t *testing.T) { s.of(t).takenBack() })
			t.Run("says how it has failed, and asks anew", func(t *testing.T) { s.of(t).failed() })
			t.Run("completes the names of pods", func(t *testing.T) { s.of(t).completed() })
		})
	}
}

func (s *stage) untilThePodIsGone() {
	s.pod("p", "example.com/backup:20000", "example.com/migrate:15000")
	_, trouble := s.run(1, "evict", "p", "missing")
	wantTexts(s.t, trouble, "there is no pod missing in namespace "+s.namespace)
	first := s.start("evict", "p", "--reason", "disk is failing")
	first.out.await(s.t, s.namespace+"/p  example.com/backup is active since ", ", then example.com/migrate, "+evictionrequest.Evictor)
	s.respond("pod-1-p", "example.com/backup", func(r *evictionv1alpha1.ResponderStatus) {
		r.HeartbeatTime, r.Message = &metav1.Time{Time: time.Now()}, new("7 of 12 GiB")
	})
	first.out.await(s.t, "example.com/backup is active", "last heartbeat at ", ": 7 of 12 GiB\n")
	list, _ := s.run(0, "evictions")
	wantTexts(s.t, list, "example.com/backup", "7 of 12 GiB", "kubectl.slipway.dev/evict", "in progress")

	second := s.start("evict", "p", "-o", "json")
	second.trouble.await(s.t, "The eviction of pod p is requested already, since ", "(disk is failing)")
	third := s.start("evict", "p")
	third.out.await(s.t, "example.com/backup is active")
	third.signal(syscall.SIGINT)
	_, trouble = third.end(130)
	wantTexts(s.t, trouble, "Stopped watching.", "It continues in the cluster.", "kubectl slipway evict p -n "+s.namespace+" --withdraw")
	_, trouble = s.run(5, "evict", "p", "--timeout=1s")
	wantTexts(s.t, trouble, "Timed out.", "It continues in the cluster.")

	s.respond("pod-1-p", "example.com/backup", done)
	first.out.await(s.t, "example.com/migrate is active")
	s.remove("p")
	out, _ := first.end(0)
	wantTexts(s.t, out, "pod/p evicted\n")
	out, _ = second.end(0)
	var last struct {
		State string `json:"state"`
		Ended bool   `json:"ended"`
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.State != "evicted" || !last.Ended {
		s.t.Errorf("the last line is %s (%v)", lines[len(lines)-1], err)
	}
}

func (s *stage) takenBack() {
	s.pod("q", "example.com/backup:20000")
	out, trouble := s.run(0, "evict", "q", "--wait=false")
	wantTexts(s.t, out, "evictionrequest.lifecycle.k8s.io/kubectl-evict-", " created")
	wantTexts(s.t, trouble, "It continues in the cluster.")
	follower := s.start("evict", "q")
	follower.out.await(s.t, "example.com/backup is active")
	out, _ = s.run(0, "evict", "q", "never", "--withdraw")
	wantTexts(s.t, out, "pod/q: the request is withdrawn\n", "pod/never has no request to withdraw\n")
	_, trouble = follower.end(4)
	wantTexts(s.t, trouble, "error: pod q is not evicted: the eviction was canceled")
}

func (s *stage) failed() {
	s.pod("r")
	follower := s.start("evict", "r")
	follower.out.await(s.t, evictionrequest.Evictor+" is active")
	s.respond("pod-1-r", evictionrequest.Evictor, done)
	s.respond("pod-2-r", evictionrequest.Evictor, done)
	_, trouble := follower.end(3)
	wantTexts(s.t, trouble, "error: pod r is not evicted: all responders have run", "'kubectl slipway evict r -n "+s.namespace+"' requests it again")
	out, _ := s.run(0, "evictions", "-o", "wide")
	wantTexts(s.t, out, "failed", "pod-2-r")
	again := s.start("evict", "r")
	again.trouble.await(s.t, "An earlier request for pod r has ended; the command requests the eviction again.")
	again.out.await(s.t, evictionrequest.Evictor+" is active")
	s.remove("r")
	again.end(0)
}

func (s *stage) completed() {
	s.pod("some-pod")
	out, _ := run(s.t, s.env, 0, "__complete", "-n", s.namespace, "evict", "some")
	wantTexts(s.t, out, "some-pod\n")
}

// stage is a namespace of a cluster that serves EvictionRequests. The test is all
// responders.
type stage struct {
	t         *testing.T
	env       *harness.Env
	builtin   bool
	clients   kubernetes.Interface
	namespace string
}

func newStage(t *testing.T, builtin bool) *stage {
	t.Helper()
	var options harness.Options
	if builtin {
		options = harness.Options{Group: lifecyclev1alpha1.GroupSlipway, LauncherArgs: []string{
			"--feature-gates", "EvictionRequestAPI=true", "--runtime-config", lifecyclev1alpha1.GroupKubernetes + "/v1alpha1=true",
		}}
	}
	s := &stage{t: t, env: harness.Own(t, options), builtin: builtin}
	if !builtin {
		s.must(s.env.InstallEvictions(t.Context()))
	}
	clients, err := kubernetes.NewForConfig(s.config())
	s.must(err)
	s.clients, s.namespace = clients, s.env.Namespace(t, nil).Name
	return s
}

// of is the stage of a part of a test, with a namespace of its own.
func (s *stage) of(t *testing.T) *stage {
	t.Helper()
	part := *s
	part.t, part.namespace = t, s.env.Namespace(t, nil).Name
	return &part
}

func (s *stage) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) config() *rest.Config {
	config := rest.CopyConfig(s.env.Admin)
	config.ContentType = "application/json" // CRDs know nothing else
	return config
}

func (s *stage) start(arguments ...string) *command {
	s.t.Helper()
	return start(s.t, s.env, append(arguments, "-n", s.namespace)...)
}

func (s *stage) run(want int, arguments ...string) (out, trouble string) {
	s.t.Helper()
	return s.start(arguments...).end(want)
}

// runEvictions has an evictionrequest-controller at work until the test ends.
func (s *stage) runEvictions() {
	s.t.Helper()
	controller, err := evictioncontroller.New(s.config(), clock.RealClock{}, func() {})
	s.must(err)
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := controller.Run(ctx); err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(func() { stop(); running.Wait() })
}

// pod is bound to no node, so that it goes when it is deleted.
func (s *stage) pod(name string, responders ...string) {
	s.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	pod.Spec.SchedulerName = "nobody"
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "example.com/none"}}
	if len(responders) > 0 {
		pod.Annotations = map[string]string{evictionrequest.AnnotationResponders: strings.Join(responders, ",")}
	}
	_, err := s.clients.CoreV1().Pods(s.namespace).Create(s.t.Context(), pod, metav1.CreateOptions{})
	s.must(err)
}

func (s *stage) remove(pod string) {
	s.t.Helper()
	s.must(s.clients.CoreV1().Pods(s.namespace).Delete(s.t.Context(), pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
}

// respond changes what a responder says of an Eviction, when that has responders.
func (s *stage) respond(eviction, responder string, say func(*evictionv1alpha1.ResponderStatus)) {
	s.t.Helper()
	api := s.clients.LifecycleV1alpha1().Evictions(s.namespace)
	lister := cache.NewListWatchFromClient(s.clients.LifecycleV1alpha1().RESTClient(), "evictions", s.namespace, fields.OneTermEqualSelector("metadata.name", eviction))
	_, err := watchtools.UntilWithSync(s.t.Context(), lister, &evictionv1alpha1.Eviction{}, nil, func(e watch.Event) (bool, error) {
		seen, ok := e.Object.(*evictionv1alpha1.Eviction)
		return ok && len(seen.Status.Responders) > 0, nil
	})
	s.must(err)
	s.must(retry.RetryOnConflict(retry.DefaultRetry, func() error {
		e, err := api.Get(s.t.Context(), eviction, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for i := range e.Status.Responders {
			if e.Status.Responders[i].Name == responder {
				say(&e.Status.Responders[i])
			}
		}
		_, err = api.UpdateStatus(s.t.Context(), e, metav1.UpdateOptions{})
		return err
	}))
}

func done(r *evictionv1alpha1.ResponderStatus) { r.CompletionTime = &metav1.Time{Time: time.Now()} }
