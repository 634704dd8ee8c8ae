// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	admissionregistration "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// The kinds are there already: what is new of them is in the plain manifests as well.
func TestTheAPIServerAcceptsEveryManifest(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	for _, path := range []string{
		"install.yaml", "install-central.yaml", "install-reduced.yaml", "install-evictions.yaml", "install-host.yaml",
		"crd/lifecycle.k8s.io", "crd/slm.slipway.dev", "crd/slipway.dev", "crd/evictions",
		"rbac", "rbac/reduced", "rbac/central", "rbac/evictions", "rbac/host",
		"admission", "admission/guards", "admission/reduced", "admission/evictions", "admission/host",
		"transitions/lifecycle.k8s.io", "samples",
	} {
		t.Run(path, func(t *testing.T) {
			env.Kubectl(t, "apply", "--dry-run=server", "--validate=strict", "-f", harness.File(t, "config", filepath.FromSlash(path)))
		})
	}
}

// The API server checks expressions against the types of what they are about, and notes
// what it finds in the status of the policy. It refuses none for that.
func TestTheAPIServerFindsNothingWrongWithThePolicies(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, harness.Options{})
	env.Kubectl(t, "apply", "--recursive", "-f", harness.File(t, "config", "admission"))
	policies := kubernetes.NewForConfigOrDie(env.Admin).AdmissionregistrationV1().ValidatingAdmissionPolicies()
	for _, name := range policyNames(t) {
		t.Run(name, func(t *testing.T) {
			policy := checked(t, policies, name)
			if policy.Status.TypeChecking == nil {
				return
			}
			for _, warning := range policy.Status.TypeChecking.ExpressionWarnings {
				t.Errorf("%s: %s", warning.FieldRef, warning.Warning)
			}
		})
	}
}

// checked waits until the types of a policy have been checked.
func checked(t *testing.T, policies admissionregistration.ValidatingAdmissionPolicyInterface, name string) *admissionregistrationv1.ValidatingAdmissionPolicy {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	named := func(o metav1.ListOptions) metav1.ListOptions {
		o.FieldSelector = "metadata.name=" + name
		return o
	}
	event, err := watchtools.UntilWithSync(ctx, &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			return policies.List(ctx, named(o))
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return policies.Watch(ctx, named(o))
		},
	}, &admissionregistrationv1.ValidatingAdmissionPolicy{}, nil, func(event watch.Event) (bool, error) {
		policy, ok := event.Object.(*admissionregistrationv1.ValidatingAdmissionPolicy)
		return ok && policy.Status.ObservedGeneration == policy.Generation, nil
	})
	if err != nil {
		t.Fatalf("its types are not checked: %v", err)
	}
	return event.Object.(*admissionregistrationv1.ValidatingAdmissionPolicy)
}

// policyNames are those of the validating policies in config/admission.
func policyNames(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(harness.File(t, "config", "admission"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, part := range strings.Split(string(text), "kind: ValidatingAdmissionPolicy\nmetadata:\n  name: ")[1:] {
			name, _, _ := strings.Cut(part, "\n")
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	const atLeast = 7
	if len(names) < atLeast {
		t.Fatalf("found only %q", names)
	}
	return names
}
