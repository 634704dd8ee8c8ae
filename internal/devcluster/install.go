// SPDX-License-Identifier: Apache-2.0

package devcluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// fieldManager is the field manager of the installation.
const fieldManager = "slipway-install"

// release is the manifest for clusters whose API server does not serve lifecycle.k8s.io.
const release = "install.yaml"

// InstallRelease applies the released manifest with its workloads, whose pods kwok simulates, and
// then the transitions. It returns when events can be created.
func (c *Cluster) InstallRelease(ctx context.Context) error {
	root, admin, err := c.installer()
	if err != nil {
		return err
	}
	if err := applyFile(ctx, admin, filepath.Join(root, "config", release)); err != nil {
		return err
	}
	return c.finishInstall(ctx, admin, root, lifecyclev1alpha1.GroupKubernetes)
}

// Install applies the CRDs of one API group and Slipway's own, the permissions of agents and
// controllers, the transitions of the drain driver, and the admission policies without the
// optional ones. It returns when events can be created.
func (c *Cluster) Install(ctx context.Context, group string) error {
	root, admin, err := c.installer()
	if err != nil {
		return err
	}
	for _, dir := range []string{
		filepath.Join("crd", group), filepath.Join("crd", slipwayv1alpha1.GroupVersion.Group), "rbac", "admission", filepath.Join("admission", "daemonsets"),
	} {
		if err := apply(ctx, admin, filepath.Join(root, "config", dir)); err != nil {
			return err
		}
	}
	return c.finishInstall(ctx, admin, root, group)
}

// InstallEvictions applies the CRDs of EvictionRequests and Evictions, for a server that
// does not serve them itself. It returns when they are served.
func (c *Cluster) InstallEvictions(ctx context.Context) error {
	root, admin, err := c.installer()
	if err != nil {
		return err
	}
	if err := apply(ctx, admin, filepath.Join(root, "config", "crd", "evictions")); err != nil {
		return err
	}
	return awaitCRDs(ctx, admin, "evictionrequests."+lifecyclev1alpha1.GroupKubernetes, "evictions."+lifecyclev1alpha1.GroupKubernetes)
}

// InstallEvictionRights applies the permissions and policies of the eviction controllers.
func (c *Cluster) InstallEvictionRights(ctx context.Context) error {
	return c.InstallFolders(ctx, "rbac/evictions", "admission/evictions")
}

// InstallFolders applies folders of config/.
func (c *Cluster) InstallFolders(ctx context.Context, folders ...string) error {
	root, admin, err := c.installer()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := apply(ctx, admin, filepath.Join(root, "config", filepath.FromSlash(folder))); err != nil {
			return err
		}
	}
	return nil
}

// WithManifests returns the cluster for the manifests of another checkout of the repository.
func (c *Cluster) WithManifests(root string) *Cluster {
	other := *c
	other.root = root
	return &other
}

// installer returns the repository and the administrator's client.
func (c *Cluster) installer() (root string, admin client.WithWatch, err error) {
	if root = c.root; root == "" {
		if root, err = Root(); err != nil {
			return "", nil, err
		}
	}
	admin, err = c.installClient()
	return root, admin, err
}

// finishInstall applies the transitions when the API server serves their kind.
func (c *Cluster) finishInstall(ctx context.Context, admin client.WithWatch, root, group string) error {
	own := slipwayv1alpha1.GroupVersion.Group
	if err := awaitCRDs(ctx, admin, "lifecycletransitions."+group, "lifecycleevents."+group, "drainrules."+own, "nodemaintenances."+own); err != nil {
		return err
	}
	kinds, err := c.kindsClient(group)
	if err != nil {
		return err
	}
	if err := apply(ctx, kinds, filepath.Join(root, "config", "transitions", group)); err != nil {
		return err
	}
	return awaitAdmission(ctx, kinds)
}

// kindsClient knows the two kinds without discovery, which may not have them yet.
func (c *Cluster) kindsClient(group string) (client.Client, error) {
	in := apigroup.In(group)
	kinds, err := client.New(c.Admin, client.Options{Scheme: in.Scheme(), Mapper: in.Mapper()})
	if err != nil {
		return nil, fmt.Errorf("build the client for %s: %w", group, err)
	}
	return kinds, nil
}

// admissionPeriod is the time between two attempts to create events.
const admissionPeriod = 50 * time.Millisecond

// awaitAdmission returns when the admission policies are in force, and the API server has the
// schemas that they need. Until then it may answer 503, which no watch shows. It creates an event
// and a maintenance in a dry run, and waits until the policies set their requesters.
func awaitAdmission(ctx context.Context, kinds client.Client) error {
	event := lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "install-"},
		Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: "none", BindingNode: "none"},
	}
	maintenance := slipwayv1alpha1.NodeMaintenance{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "install-"},
		Spec: slipwayv1alpha1.NodeMaintenanceSpec{NodeSelector: corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{"none"}}},
		}}}},
	}
	var last error
	err := wait.PollUntilContextCancel(ctx, admissionPeriod, true, func(ctx context.Context) (bool, error) {
		e, m := event.DeepCopy(), maintenance.DeepCopy()
		last = errors.Join(kinds.Create(ctx, e, client.DryRunAll), kinds.Create(ctx, m, client.DryRunAll))
		return last == nil && e.Spec.RequestedBy != "" && m.Spec.RequestedBy != "", nil
	})
	if err != nil {
		return fmt.Errorf("wait until the admission policies are in force: %w", errors.Join(err, last))
	}
	return nil
}

func (c *Cluster) installClient() (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, rbacv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("build the scheme: %w", err)
		}
	}
	admin, err := client.NewWithWatch(c.Admin, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("build the administrator's client: %w", err)
	}
	return admin, nil
}

// apply applies all objects of the YAML files in a directory.
func apply(ctx context.Context, admin client.Client, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("apply %s: no YAML files: %w", dir, err)
	}
	for _, file := range files {
		if err := applyFile(ctx, admin, file); err != nil {
			return err
		}
	}
	return nil
}

func applyFile(ctx context.Context, admin client.Client, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := applyAll(ctx, admin, text); err != nil {
		return fmt.Errorf("apply %s: %w", file, err)
	}
	return nil
}

func applyAll(ctx context.Context, admin client.Client, text []byte) error {
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if len(object.Object) == 0 {
			continue
		}
		err := admin.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(fieldManager), client.ForceOwnership)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}

// awaitCRDs returns when the API server serves the CRDs.
func awaitCRDs(ctx context.Context, admin client.WithWatch, names ...string) error {
	for _, name := range names {
		lister := ListerOf(admin, &apiextensionsv1.CustomResourceDefinitionList{}, client.MatchingFields{"metadata.name": name})
		_, err := watchtools.UntilWithSync(ctx, lister, &apiextensionsv1.CustomResourceDefinition{}, nil, established)
		if err != nil {
			return fmt.Errorf("wait until %s is served: %w", name, err)
		}
	}
	return nil
}

func established(e watch.Event) (bool, error) {
	crd, ok := e.Object.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return false, nil
	}
	for _, condition := range crd.Status.Conditions {
		if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
			return true, nil
		}
	}
	return false, nil
}

// ListerOf lists and watches the kind of the given list.
func ListerOf(c client.WithWatch, list client.ObjectList, selected ...client.ListOption) cache.ListerWatcher {
	raw := func(options metav1.ListOptions) []client.ListOption {
		return append([]client.ListOption{&client.ListOptions{Raw: &options}}, selected...)
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			into := list.DeepCopyObject().(client.ObjectList)
			return into, c.List(ctx, into, raw(options)...)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return c.Watch(ctx, list.DeepCopyObject().(client.ObjectList), raw(options)...)
		},
	}, c)
}
