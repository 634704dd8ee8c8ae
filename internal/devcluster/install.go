// SPDX-License-Identifier: Apache-2.0

package devcluster

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// fieldManager is the field manager of `kubectl slipway install`, which can change this installation.
const fieldManager = "kubectl-slipway"

// Install applies the CRDs of one API group and Slipway's own, the permissions of agents and
// controllers, the transitions of the drain driver, and the admission policies without the
// optional ones. It returns when events can be created.
func (c *Cluster) Install(ctx context.Context, group string) error {
	own := slipwayv1alpha1.GroupVersion.Group
	folders := []string{"crd/" + group, "crd/" + own, "rbac", "rbac/jobs", "admission", "admission/jobs", "admission/daemonsets"}
	if c.Reduced() {
		folders = append(folders, "rbac/reduced", "admission/reduced")
	}
	if err := c.InstallFolders(ctx, folders...); err != nil {
		return err
	}
	if err := c.awaitCRDs(ctx, "lifecycletransitions."+group, "lifecycleevents."+group, "drainrules."+own, "nodemaintenances."+own); err != nil {
		return err
	}
	kinds, err := c.kindsClient(group)
	if err != nil {
		return err
	}
	if err := c.apply(ctx, kinds, "transitions/"+group); err != nil {
		return err
	}
	return c.awaitAdmission(ctx, kinds)
}

// InstallEvictions applies the CRDs of EvictionRequests and Evictions, for a server that
// does not serve them itself. It returns when they are served.
func (c *Cluster) InstallEvictions(ctx context.Context) error {
	if err := c.InstallFolders(ctx, "crd/evictions"); err != nil {
		return err
	}
	return c.awaitCRDs(ctx, "evictionrequests."+lifecyclev1alpha1.GroupKubernetes, "evictions."+lifecyclev1alpha1.GroupKubernetes)
}

// InstallEvictionRights applies the permissions and policies of the eviction controllers.
func (c *Cluster) InstallEvictionRights(ctx context.Context) error {
	return c.InstallFolders(ctx, "rbac/evictions", "admission/evictions")
}

// InstallFolders applies folders of config/.
func (c *Cluster) InstallFolders(ctx context.Context, folders ...string) error {
	admin, err := c.installClient()
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := c.apply(ctx, admin, folder); err != nil {
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
// and a maintenance in a dry run, and waits until the policies set their requesters, or reject wrong requesters.
func (c *Cluster) awaitAdmission(ctx context.Context, kinds client.Client) error {
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
	if c.Reduced() {
		event.Spec.RequestedBy, maintenance.Spec.RequestedBy = "nobody", "nobody"
	}
	var last error
	err := wait.PollUntilContextCancel(ctx, admissionPeriod, true, func(ctx context.Context) (bool, error) {
		e, m := event.DeepCopy(), maintenance.DeepCopy()
		eventErr, maintenanceErr := kinds.Create(ctx, e, client.DryRunAll), kinds.Create(ctx, m, client.DryRunAll)
		last = errors.Join(eventErr, maintenanceErr)
		if c.Reduced() {
			return apierrors.IsForbidden(eventErr) && apierrors.IsForbidden(maintenanceErr), nil
		}
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

// apply applies all objects in a folder of config/.
func (c *Cluster) apply(ctx context.Context, admin client.Client, folder string) (err error) {
	root := c.root
	if root == "" {
		if root, err = Root(); err != nil {
			return err
		}
	}
	dir := filepath.Join(root, "config", filepath.FromSlash(folder))
	infos, err := resource.NewLocalBuilder().Unstructured().FilenameParam(false, &resource.FilenameOptions{Filenames: []string{dir}}).Do().Infos()
	if err != nil {
		return fmt.Errorf("read %s: %w", dir, err)
	}
	for _, info := range infos {
		if kind := info.Object.GetObjectKind().GroupVersionKind().Kind; c.Reduced() && strings.HasPrefix(kind, "MutatingAdmissionPolicy") {
			continue
		}
		object := client.ApplyConfigurationFromUnstructured(info.Object.(*unstructured.Unstructured))
		if err := admin.Apply(ctx, object, client.FieldOwner(fieldManager), client.ForceOwnership); err != nil {
			return fmt.Errorf("apply %s: %w", info.ObjectName(), err)
		}
	}
	return nil
}

// awaitCRDs returns when the API server serves the CRDs.
func (c *Cluster) awaitCRDs(ctx context.Context, names ...string) error {
	admin, err := c.installClient()
	if err != nil {
		return err
	}
	for _, name := range names {
		lister := ListerOf(admin, &apiextensionsv1.CustomResourceDefinitionList{}, client.MatchingFields{"metadata.name": name})
		_, err := watchtools.UntilWithSync(ctx, lister, &apiextensionsv1.CustomResourceDefinition{}, nil, func(e watch.Event) (bool, error) {
			crd, ok := e.Object.(*apiextensionsv1.CustomResourceDefinition)
			return ok && apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established), nil
		})
		if err != nil {
			return fmt.Errorf("wait until %s is served: %w", name, err)
		}
	}
	return nil
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
