// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	lifecycleclient "k8s.io/client-go/kubernetes/typed/lifecycle/v1alpha1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/drain/watchstore"
	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

const (
	// probeEvery is the pause between two attempts to read Evictions that the server does not serve, while drains run. After a
	// time without drains, the first drain tries again at once: an administrator may have installed Evictions since.
	probeEvery = 10 * time.Minute
	// doubtFor delays the belief that the server does not serve Evictions after it has served them: one of several API servers
	// may be older, or have the feature off.
	doubtFor = 5 * time.Second
)

// Reader reads Evictions. It runs no goroutine without a Follow.
type Reader struct {
	evictions  lifecycleclient.EvictionInterface
	namespaces metadata.ResourceInterface
	clock      clock.Clock
	watches    watchstore.Shared[struct{}, *listener, *watching]

	mu sync.Mutex
	// absent: the server does not serve Evictions, by its last answer.
	absent bool
	// wasRead: an earlier read succeeded. missed is the time of the first answer after it by which Evictions are absent. Zero:
	// none.
	wasRead bool
	missed  time.Time
}

var _ drain.ResponderReader = (*Reader)(nil)

// listener receives the pods whose responders have changed. No pods: any pod may have changed.
type listener = func(pods ...types.UID)

// watching are the two watches.
type watching struct {
	evictions *watchstore.Store[eviction] // by the UID of the pod
	surges    *watchstore.Store[string]   // names of namespaces
}

// New returns a reader with the given credentials. It makes no request.
func New(self *rest.Config, c clock.Clock) (*Reader, error) {
	config := rest.CopyConfig(self)
	// If Evictions are custom resources, the server has no other form of them.
	config.AcceptContentTypes, config.ContentType = "", runtime.ContentTypeJSON
	evictions, err := lifecycleclient.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build the client for Evictions: %w", err)
	}
	objects, err := metadata.NewForConfig(self)
	if err != nil {
		return nil, fmt.Errorf("build the client for metadata: %w", err)
	}
	return &Reader{
		evictions:  evictions.Evictions(metav1.NamespaceAll),
		namespaces: objects.Resource(corev1.SchemeGroupVersion.WithResource("namespaces")),
		clock:      c,
	}, nil
}

// Follow implements drain.ResponderReader.
func (r *Reader) Follow(ctx context.Context, changed func(pods ...types.UID)) {
	_, leave := r.watches.Join(struct{}{}, &changed, func() (*watching, func()) {
		return r.start(context.WithoutCancel(ctx)) // it may outlive the Follow that began it
	})
	defer leave()
	changed() // the responders may be known already
	<-ctx.Done()
}

// Responders implements drain.ResponderReader.
func (r *Reader) Responders(pods []*corev1.Pod) drain.Responders {
	w, users := r.watches.Get(struct{}{})
	r.mu.Lock()
	absent := r.absent
	r.mu.Unlock()
	switch {
	case len(users) == 0:
		return drain.Responders{} // the Follow of this drain has not begun
	case absent:
		return drain.Responders{Known: true}
	}
	names, known := w.surges.List()
	surges := map[string]bool{}
	for _, name := range names {
		surges[name] = true
	}
	served := w.evictions.Synced()
	all := drain.Responders{
		Known: served && known, Served: served, Err: cmp.Or(w.evictions.Err(), w.surges.Err()), Pods: map[types.UID]drain.Response{},
	}
	for _, pod := range pods {
		all.Pods[pod.UID] = respond(pod, w.evictions.Indexed(pod.UID), surges)
	}
	return all
}

// start begins the watches. It watches namespaces only after a successful read of Evictions.
func (r *Reader) start(ctx context.Context) (w *watching, stop func()) {
	r.mu.Lock()
	r.absent = false
	r.mu.Unlock()
	w = r.newWatching()
	from := watchstore.From("responders", &evictionv1alpha1.Eviction{}, r.evictions.List, r.evictions.Watch)
	return w, watchstore.Start(ctx, func(ctx context.Context) {
		var namespaces sync.WaitGroup
		defer namespaces.Wait()
		var begin sync.Once
		w.evictions.RunOptional(ctx, from, r.clock, probeEvery, func(err error) bool {
			if err == nil {
				begin.Do(func() { namespaces.Go(func() { r.watchNamespaces(ctx, w) }) })
			}
			if !r.learn(err, w.evictions.Len()) {
				return false
			}
			klog.FromContext(ctx).Info("No Evictions are read: drains leave no pods to responders", "reason", err.Error(), "nextAttempt", probeEvery.String())
			r.tell()
			return true
		})
	})
}

func (r *Reader) newWatching() *watching {
	return &watching{
		evictions: watchstore.New(watchstore.Options[eviction]{
			Convert: func(obj any) (eviction, bool) {
				e, ok := obj.(*evictionv1alpha1.Eviction)
				if !ok || e.Spec.Target.Pod == nil {
					return eviction{}, false
				}
				return toEviction(e), true
			},
			Index: func(e eviction) types.UID { return e.pod },
			Same:  func(before, after eviction) bool { return before == after },
			Changed: func(c watchstore.Change[eviction]) {
				switch {
				case c.UID == "":
					r.tell()
				case !c.Differs:
				case c.Before == nil:
					r.tell(c.After.pod)
				case c.After == nil:
					r.tell(c.Before.pod)
				default:
					r.tell(c.Before.pod, c.After.pod)
				}
			},
		}),
		surges: watchstore.New(watchstore.Options[string]{
			Convert: func(obj any) (string, bool) {
				o, ok := obj.(*metav1.PartialObjectMetadata)
				if !ok {
					return "", false
				}
				return o.Name, true
			},
			Same: func(before, after string) bool { return before == after },
			Changed: func(c watchstore.Change[string]) {
				if c.UID == "" || c.Differs {
					r.tell()
				}
			},
		}),
	}
}

// watchNamespaces watches the namespaces that opt in to surge.
func (r *Reader) watchNamespaces(ctx context.Context, w *watching) {
	from := watchstore.From("responders", &metav1.PartialObjectMetadata{}, r.namespaces.List, r.namespaces.Watch)
	from.Labels = surge.Responder + "=true"
	w.surges.Run(ctx, from)
}

// tell calls all listeners.
func (r *Reader) tell(pods ...types.UID) {
	_, users := r.watches.Get(struct{}{})
	for _, changed := range users {
		(*changed)(pods...)
	}
}

// learn records the result of a read of Evictions, and reports whether the server serves no Evictions that the reader may read.
// known counts the known Evictions.
func (r *Reader) learn(err error, known int) (absent bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	switch {
	case err == nil:
		r.absent, r.missed, r.wasRead = false, time.Time{}, true
		return false
	case known > 0 || !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return false
	case r.wasRead && r.missed.IsZero():
		r.missed = now
		return false
	case r.wasRead && now.Before(r.missed.Add(doubtFor)):
		return false
	}
	r.absent, r.missed, r.wasRead = true, time.Time{}, false
	return true
}
