// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// Reader reads DrainRules. It runs nothing while there is no Follow.
type Reader struct {
	own        string
	rules      ruleClient
	namespaces metadata.ResourceInterface

	mu    sync.Mutex
	watch *ruleWatch // nil while there is no Follow
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

// ruleClient reads the DrainRules of all namespaces.
type ruleClient = *gentype.ClientWithList[*slipwayv1alpha1.DrainRule, *slipwayv1alpha1.DrainRuleList]

func newRuleClient(self *rest.Config) (ruleClient, error) {
	scheme := runtime.NewScheme()
	if err := slipwayv1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	config := rest.CopyConfig(self)
	config.APIPath, config.GroupVersion = "/apis", &slipwayv1alpha1.GroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.AcceptContentTypes, config.ContentType = "", runtime.ContentTypeJSON
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return gentype.NewClientWithList("drainrules", client, metav1.ParameterCodec, metav1.NamespaceAll,
		func() *slipwayv1alpha1.DrainRule { return &slipwayv1alpha1.DrainRule{} },
		func() *slipwayv1alpha1.DrainRuleList { return &slipwayv1alpha1.DrainRuleList{} }), nil
}

// Follow implements drain.RuleReader.
func (r *Reader) Follow(ctx context.Context, namespace string, tell func([]drain.Rule, error)) {
	f := &follower{reader: r, namespace: namespace, wake: watchstore.NewSignal()}
	f.rules = r.join(ctx, f.wake)
	defer r.leave(f.rules, f.wake)
	defer f.endLabels()
	var told *answer
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

// follower is one Follow.
type follower struct {
	reader    *Reader
	namespace string
	wake      watchstore.Signal
	rules     *ruleWatch
	// labels of the namespace, watched while a rule selects by them. Nil: no rule does.
	labels *watchstore.Store[labels.Set]
	end    func()
}

// look returns the rules of the namespace. Nil: they are not known yet.
func (f *follower) look(ctx context.Context) *answer {
	all, known, err := f.rules.list()
	switch {
	case err != nil:
		return failed(err)
	case !known:
		return nil
	case !slices.ContainsFunc(all, (*rule).needsLabels):
		f.endLabels()
		return pick(all, f.namespace, nil)
	}
	f.beginLabels(ctx)
	namespaces, known := f.labels.List()
	switch err := f.labels.Err(); {
	case err != nil:
		return failed(err)
	case !known:
		return nil
	case len(namespaces) == 0: // a namespace that is gone has no labels
		return pick(all, f.namespace, nil)
	default:
		return pick(all, f.namespace, namespaces[0])
	}
}

func (f *follower) beginLabels(ctx context.Context) {
	if f.labels != nil {
		return
	}
	f.labels = watchstore.New(watchstore.Options[labels.Set]{
		Convert: func(obj any) (labels.Set, bool) {
			o, ok := obj.(metav1.Object)
			if !ok {
				return nil, false
			}
			return o.GetLabels(), true
		},
		Changed: func(watchstore.Change[labels.Set]) { f.wake.Poke() },
	})
	client := f.reader.namespaces
	from := watchstore.From("drainrules", &metav1.PartialObjectMetadata{}, client.List, client.Watch)
	from.Fields = metav1.ObjectNameField + "=" + f.namespace
	f.end = f.labels.Start(ctx, from)
}

func (f *follower) endLabels() {
	if f.labels == nil {
		return
	}
	f.end()
	f.labels = nil
}
