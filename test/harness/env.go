// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/auditcheck"
)

// Patience bounds each wait of a test for a condition. Only a test that fails reaches it.
const Patience = 3 * time.Minute

// Env is a cluster with Slipway's kinds and permissions.
type Env struct {
	*devcluster.Cluster
	// Client is the administrator's.
	Client client.WithWatch
	// Group is the API group of LifecycleEvents.
	Group string

	dir string
	log *requestLog
}

// Close takes the cluster down and removes its files.
func (e *Env) Close() error { return errors.Join(e.Cluster.Close(), os.RemoveAll(e.dir)) }

// Options of a cluster.
type Options struct {
	// Group is the API group of LifecycleEvents. Empty: lifecycle.k8s.io.
	Group string
	// LauncherArgs are further flags for the launcher.
	LauncherArgs []string
	// Bare leaves Slipway to the test, which installs it.
	Bare bool
	// SideBySide is the number of tests of a package that run at a time; 0: 8. Only [MainOn] reads it.
	SideBySide int
}

var shared struct {
	options Options
	once    sync.Once
	env     *Env
	err     error
}

// sideBySide is the number of tests of a package that run at a time without -parallel: they wait for processes more
// than they compute.
const sideBySide = 8

// Main runs the tests of a package and takes the shared cluster down after them.
func Main(m *testing.M) {
	log.SetLogger(logr.Discard())
	if err := runSideBySide(cmp.Or(shared.options.SideBySide, sideBySide)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	var errs []error
	if shared.env != nil {
		errs = append(errs, shared.env.Close())
	}
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, "clean up:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

func runSideBySide(many int) error {
	const parallel = "test.parallel"
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == parallel })
	if given {
		return nil
	}
	return flag.Set(parallel, strconv.Itoa(many))
}

// MainOn is [Main] with a shared cluster of the test's choice.
func MainOn(m *testing.M, options Options) {
	shared.options = options
	Main(m)
}

// Shared returns the cluster that the tests of a package share. The first test starts it.
func Shared(t *testing.T) *Env {
	t.Helper()
	shared.once.Do(func() { shared.env, shared.err = start(shared.options) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return shared.env
}

// Own returns a cluster for one test alone.
func Own(t *testing.T, options Options) *Env {
	t.Helper()
	env, err := start(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Close(); err != nil {
			t.Error(err)
		}
	})
	return env
}

func start(options Options) (*Env, error) {
	if options.Group == "" {
		options.Group = lifecyclev1alpha1.GroupKubernetes
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*Patience)
	defer cancel()
	dir, err := os.MkdirTemp("", "slipway-test-")
	if err != nil {
		return nil, err
	}
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditcheck.Policy), 0o600); err != nil {
		return nil, err
	}
	// The cluster outlives ctx: it goes when it is closed, or with this process.
	cluster, err := devcluster.Run(context.WithoutCancel(ctx), devcluster.Options{
		Dir: filepath.Join(dir, "cluster"), Nodes: 1, Args: append([]string{"--audit-policy=" + policy, "--timeout=" + Patience.String()}, options.LauncherArgs...),
	})
	if err != nil {
		return nil, err
	}
	env := &Env{Cluster: cluster, Group: options.Group, dir: dir, log: &requestLog{}}
	if !options.Bare {
		err = env.install(ctx)
	}
	if err == nil {
		env.Client, err = env.newClient()
	}
	if err != nil {
		return nil, errors.Join(err, cluster.Close())
	}
	return env, nil
}

func (e *Env) install(ctx context.Context) error {
	if err := e.Install(ctx, e.Group); err != nil {
		return err
	}
	return e.CreateAgentPods(ctx)
}

func (e *Env) newClient() (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	lifecyclev1alpha1.AddToScheme(scheme, e.Group)
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, coordinationv1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme, slipwayv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.NewWithWatch(e.Admin, client.Options{Scheme: scheme})
}

// QuickPods is a policy that gives each new pod a short grace period. A simulated pod ends within
// its grace period, which is 30 s by default: a test that replaces or drains the pods of a released
// manifest would wait for that again and again. 3 s suffice for the process of such a pod to end in
// order.
const QuickPods = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata:
  name: quick-pods.example.com
spec:
  failurePolicy: Ignore
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules:
      - {apiGroups: [""], apiVersions: ["v1"], operations: [CREATE], resources: [pods]}
  matchConditions:
    - {name: takes-its-time, expression: "object.spec.?terminationGracePeriodSeconds.orValue(30) > 3"}
  mutations:
    - patchType: JSONPatch
      jsonPatch:
        expression: '[JSONPatch{op: "add", path: "/spec/terminationGracePeriodSeconds", value: 3}]'
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata:
  name: quick-pods.example.com
spec:
  policyName: quick-pods.example.com
`

// OwnBare returns a cluster for one test alone, without Slipway and with [QuickPods].
func OwnBare(t *testing.T) *Env {
	t.Helper()
	env := Own(t, Options{Bare: true})
	env.KubectlWith(t, QuickPods, "apply", "-f", "-")
	return env
}

// Outage stops a component of the control plane for that time, and returns when it is healthy
// again. It calls during while the component is stopped.
func (e *Env) Outage(t *testing.T, component string, length time.Duration, during func()) {
	t.Helper()
	if err := e.Stop(t.Context(), component); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(length)
	during()
	AwaitTime(t, until)
	if err := e.Start(t.Context(), component); err != nil {
		t.Fatal(err)
	}
}
