// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
)

// Reader reads DrainRules. It runs nothing while nobody follows.
type Reader struct {
	own        string
	rules      rest.Interface
	namespaces metadata.ResourceInterface

	mu    sync.Mutex
	watch *ruleWatch // nil while nobody follows
}

var _ drain.RuleReader = (*Reader)(nil)

// New returns a reader with the given credentials. The rules of the cluster are in
// ownNamespace. It makes no request.
func New(self *rest.Config, ownNamespace string) (*Reader, error) {
	rules, err := newRuleClient(self)
	if err != nil {
		return nil, fmt.Errorf("build the client for DrainRules: %w", err)
	}
	objects, err := metadata.NewForConfig(self)
	if err != nil {
		return nil, fmt.Errorf("build the client for metadata: %w", err)
	}
	return &Reader{
		own: ownNamespace, rules: rules,
		namespaces: objects.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")),
	}, nil
}

func newRuleClient(self *rest.Config) (rest.Interface, error) {
	scheme := runtime.NewScheme()
	if err := slipwayv1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(self)
	config.APIPath, config.GroupVersion = "/apis", &slipwayv1alpha1.GroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.AcceptContentTypes, config.ContentType = "", runtime.ContentTypeJSON
	return rest.RESTClientFor(config)
}

// Follow implements drain.RuleReader.
func (r *Reader) Follow(ctx context.Context, namespace string, tell func([]drain.Rule, error)) {
	f := &follower{reader: r, namespace: namespace, wake: newSignal()}
	f.rules = r.join(ctx, f.wake)
	defer r.leave(f.rules, f.wake)
	defer f.endLabels()
	var told *saying
	for {
		if now := f.look(ctx); now != nil && (told == nil || now.key != told.key) {
			tell(now.rules, now.err)
			told = now
		}
		select {
		case <-f.wake:
		case <-ctx.Done():
			return
		}
	}
}

func onlyNamed(name string) func(*metav1.ListOptions) {
	return func(o *metav1.ListOptions) { o.FieldSelector = metav1.ObjectNameField + "=" + name }
}
