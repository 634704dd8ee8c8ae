// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	lifecycleclient "k8s.io/client-go/kubernetes/typed/lifecycle/v1alpha1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/drain"
)

const (
	// probeEvery is how long the answer that Evictions are not served counts while drains go on. The first drain after a
	// time without asks anew: they may have been installed since.
	probeEvery = 10 * time.Minute
	// doubtFor is how long the server must say that Evictions are not served, once they were: of several API servers, one
	// may be older, or have the feature off.
	doubtFor = 5 * time.Second
)

// Reader reads Evictions. It runs nothing while there is no Follow.
type Reader struct {
	evictions  lifecycleclient.EvictionInterface
	namespaces metadata.ResourceInterface
	clock      clock.Clock

	mu sync.Mutex
	// watch is nil while there is no Follow. users are the callers of Follow.
	watch *watching
	users map[*listener]struct{}
	// absent is when the server said that Evictions are not served. Zero: they may be served.
	absent time.Time
	// wasRead: Evictions were read. missed is when the first answer after that said that they are not served. Zero: no
	// answer said so.
	wasRead bool
	missed  time.Time
}

var _ drain.ResponderReader = (*Reader)(nil)

// listener is told of the pods whose responders have changed. No pods: any may have.
type listener = func(pods ...types.UID)

// New returns a reader with the given credentials. It makes no request.
func New(self *rest.Config, c clock.Clock) (*Reader, error) {
	config := rest.CopyConfig(self)
	// Where Evictions are custom resources, the server has no other form of them.
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
		clock:      c, users: map[*listener]struct{}{},
	}, nil
}

// Follow implements drain.ResponderReader.
func (r *Reader) Follow(ctx context.Context, tell func(pods ...types.UID)) {
	w := r.join(ctx, &tell)
	defer r.leave(w, &tell)
	tell() // the responders may be known already
	<-ctx.Done()
}

// Responders implements drain.ResponderReader.
func (r *Reader) Responders(pods []*corev1.Pod) drain.Responders {
	r.mu.Lock()
	w, absent := r.watch, r.isKnownAbsent()
	r.mu.Unlock()
	switch {
	case w == nil:
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

// isKnownAbsent reports whether the server has said lately that it does not serve Evictions. It is called with the lock.
func (r *Reader) isKnownAbsent() bool {
	return !r.absent.IsZero() && r.clock.Now().Before(r.absent.Add(probeEvery))
}

// join begins the watches, or shares them, and tells of each change until leave is called.
func (r *Reader) join(ctx context.Context, tell *listener) *watching {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users[tell] = struct{}{}
	if r.watch == nil {
		r.absent = time.Time{}
		r.watch = r.start(context.WithoutCancel(ctx)) // it may outlive the Follow that began it
	}
	return r.watch
}

// leave ends the use of the watches. The last user waits for their end.
func (r *Reader) leave(w *watching, tell *listener) {
	r.mu.Lock()
	delete(r.users, tell)
	last := len(r.users) == 0
	if last {
		r.watch = nil
	}
	r.mu.Unlock()
	if last {
		w.stop()
	}
}

// tell tells all listeners.
func (r *Reader) tell(pods ...types.UID) {
	r.mu.Lock()
	all := make([]listener, 0, len(r.users))
	for tell := range r.users {
		all = append(all, *tell)
	}
	r.mu.Unlock()
	for _, tell := range all {
		tell(pods...)
	}
}

// present records that Evictions were read.
func (r *Reader) present() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.absent, r.missed, r.wasRead = time.Time{}, time.Time{}, true
}

// notThere records that the server has said that it serves no Evictions, and reports whether to believe that.
func (r *Reader) notThere() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if r.wasRead && r.missed.IsZero() {
		r.missed = now
	}
	if r.wasRead && now.Before(r.missed.Add(doubtFor)) {
		return false
	}
	r.absent, r.missed, r.wasRead = now, time.Time{}, false
	return true
}

// isAbsent reports that an answer means that there are no Evictions that may be read.
func isAbsent(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) }
