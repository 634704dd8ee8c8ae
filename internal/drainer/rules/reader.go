// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/gentype"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/drain/watchstore"
	"github.com/slipway-k8s/slipway/internal/platform/quota"
)

// probeEvery is the pause between two attempts to read DrainRules that are not installed, while drains run.
const probeEvery = 10 * time.Minute

// maxRules limits the DrainRules of one namespace that apply.
const maxRules = 100

// Reader reads DrainRules. It runs no goroutine without a Follow.
type Reader struct {
	own        string
	rules      *gentype.ClientWithList[*slipwayv1alpha1.DrainRule, *slipwayv1alpha1.DrainRuleList]
	freezes    *gentype.ClientWithList[*slipwayv1alpha1.Freeze, *slipwayv1alpha1.FreezeList]
	namespaces metadata.ResourceInterface
	watches    watchstore.Shared[struct{}, watchstore.Signal, *ruleWatch]
}

var _ drain.RuleReader = (*Reader)(nil)

// ruleWatch watches all DrainRules and all Freezes. A Freeze is a rule of the cluster for all pods of its nodes.
type ruleWatch struct {
	rules, freezes kindWatch
}

// kindWatch watches all objects of a kind.
type kindWatch struct {
	*watchstore.Store[*rule]
	// absent: the server does not know the kind.
	absent atomic.Bool
}

// list returns the rules of the kind. known is false until they have been read.
func (w *kindWatch) list() (rules []*rule, known bool, err error) {
	if w.absent.Load() {
		return nil, true, nil
	}
	rules, known = w.List()
	return rules, known, w.Err()
}

// list returns the rules of both kinds.
func (w *ruleWatch) list() (all []*rule, known bool, err error) {
	rules, rulesKnown, err := w.rules.list()
	if err != nil {
		return nil, false, err
	}
	freezes, freezesKnown, err := w.freezes.list()
	return slices.Concat(rules, freezes), rulesKnown && freezesKnown, err
}

// New returns a reader with the given credentials. The rules of the cluster are in
// ownNamespace. It makes no request.
func New(self *rest.Config, ownNamespace string) (*Reader, error) {
	kinds, err := newClient(self)
	if err != nil {
		return nil, fmt.Errorf("build the client for DrainRules: %w", err)
	}
	objects, err := metadata.NewForConfig(self)
	if err != nil {
		return nil, fmt.Errorf("build the client for metadata: %w", err)
	}
	return &Reader{
		own: ownNamespace,
		rules: gentype.NewClientWithList("drainrules", kinds, metav1.ParameterCodec, metav1.NamespaceAll,
			func() *slipwayv1alpha1.DrainRule { return &slipwayv1alpha1.DrainRule{} },
			func() *slipwayv1alpha1.DrainRuleList { return &slipwayv1alpha1.DrainRuleList{} }),
		freezes: gentype.NewClientWithList("freezes", kinds, metav1.ParameterCodec, "",
			func() *slipwayv1alpha1.Freeze { return &slipwayv1alpha1.Freeze{} },
			func() *slipwayv1alpha1.FreezeList { return &slipwayv1alpha1.FreezeList{} }),
		namespaces: objects.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")),
	}, nil
}

func newClient(self *rest.Config) (rest.Interface, error) {
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

// start begins the watches of all DrainRules and Freezes.
func (r *Reader) start(ctx context.Context) (w *ruleWatch, stop func()) {
	logger := klog.FromContext(ctx)
	wakeAll := func() {
		_, users := r.watches.Get(struct{}{})
		for _, user := range users {
			user.Poke()
		}
	}
	of := func(read func(obj any) *rule) *watchstore.Store[*rule] {
		return watchstore.New(watchstore.Options[*rule]{
			Convert: func(obj any) (*rule, bool) { return read(obj), true },
			Changed: func(watchstore.Change[*rule]) { wakeAll() },
		})
	}
	w = &ruleWatch{}
	w.rules.Store = of(func(obj any) *rule { return toRule(logger, obj, r.own) })
	w.freezes.Store = of(freezeToRule)
	fromRules := watchstore.From("drainrules", &slipwayv1alpha1.DrainRule{}, r.rules.List, r.rules.Watch)
	limit := quota.New(quota.Limit{Kind: "DrainRule", Most: maxRules, Group: r.limited})
	fromRules.List, fromRules.Watch = limit.List(fromRules.List), limit.Watch(fromRules.Watch)
	stopRules := w.rules.start(ctx, fromRules, wakeAll)
	stopFreezes := w.freezes.start(ctx, watchstore.From("drainrules", &slipwayv1alpha1.Freeze{}, r.freezes.List, r.freezes.Watch), wakeAll)
	return w, func() {
		stopRules()
		stopFreezes()
	}
}

// limited is the group of a DrainRule: its namespace, and none for rules of the cluster.
func (r *Reader) limited(o metav1.Object) string {
	if o.GetNamespace() == r.own {
		return ""
	}
	return o.GetNamespace()
}

// start begins the watch of the kind.
func (w *kindWatch) start(ctx context.Context, from watchstore.Source, wakeAll func()) (stop func()) {
	return watchstore.Start(ctx, func(ctx context.Context) {
		w.RunOptional(ctx, from, clock.RealClock{}, probeEvery, func(err error) bool {
			// If objects are known, one of several servers may not know the kind yet: they still apply.
			absent := apierrors.IsNotFound(err) && w.Len() == 0
			if absent || err == nil {
				w.absent.Store(absent)
			}
			if absent {
				wakeAll()
			}
			return absent
		})
	})
}

// Follow implements drain.RuleReader.
func (r *Reader) Follow(ctx context.Context, namespace string, report func([]drain.Rule, error)) {
	f := &follower{reader: r, namespace: namespace, wake: watchstore.NewSignal()}
	rules, leave := r.watches.Join(struct{}{}, f.wake, func() (*ruleWatch, func()) {
		return r.start(context.WithoutCancel(ctx)) // it may outlive the Follow that began it
	})
	defer leave()
	defer f.endLabels()
	f.rules = rules
	var reported *answer
	for {
		if now := f.look(ctx); now != nil && (reported == nil || now.key != reported.key) {
			report(now.rules, now.err)
			reported = now
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
	// labels are the labels of the namespace, watched while a rule selects by them. Nil: no rule does.
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
	case len(namespaces) == 0: // a deleted namespace has no labels
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
	if f.labels != nil {
		f.end()
		f.labels = nil
	}
}
