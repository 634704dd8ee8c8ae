// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
)

// lookAfter does what cannot wait for the watch: it tells of refusals, and asks for what a
// watch that was cut has missed.
func (f *Follower) lookAfter(ctx context.Context) {
	refusals, missed, unseen := f.needy()
	for _, one := range refusals {
		f.refused[one.of] = f.OnRefusal(ctx, one.event, one.pods)
	}
	if len(missed) == 0 && len(unseen) == 0 {
		return
	}
	reader, err := client.New(f.cluster.Config, client.Options{
		HTTPClient: f.cluster.HTTP, Scheme: f.cluster.Home.Scheme(), Mapper: f.cluster.Home.Mapper(),
	})
	if err != nil {
		return // it is told of as an outcome that nobody has seen
	}
	for _, name := range missed {
		f.readNode(ctx, reader, name)
	}
	for _, event := range unseen {
		var now lifecyclev1alpha1.LifecycleEvent
		err := reader.Get(ctx, client.ObjectKeyFromObject(event), &now)
		switch {
		case apierrors.IsNotFound(err), err == nil && now.UID != event.UID:
			f.Gone(event)
		case err == nil:
			f.Saw(&now)
		}
	}
}

// readNode reads a Node. If the server does not answer, it is read again.
func (f *Follower) readNode(ctx context.Context, reader client.Reader, name string) {
	node := &corev1.Node{}
	err := reader.Get(ctx, client.ObjectKey{Name: name}, node)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		node = nil
	case err != nil:
		return
	}
	f.take(func(at time.Time) { f.stories.ReadNode(name, node, at) })
}

// refusal is an event that was asked not to evict some pods.
type refusal struct {
	of    *progress.Story
	event *lifecyclev1alpha1.LifecycleEvent
	pods  []lifecyclev1alpha1.Blocker
}

// needy are the stories that refuse pods, the nodes that know how an event ended whose end
// was missed, and the events that the watch may never show.
func (f *Follower) needy() (refusals []refusal, missed []string, unseen []*lifecyclev1alpha1.LifecycleEvent) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, one := range f.stories.All() {
		if f.OnRefusal != nil && !f.refused[one] && len(one.Refused()) > 0 {
			refusals = append(refusals, refusal{one, one.Event().DeepCopy(), one.Refused()})
		}
		if one.MissedEnd() {
			missed = append(missed, one.Node())
		}
		if one.Unseen() {
			unseen = append(unseen, one.Event().DeepCopy())
		}
	}
	return refusals, missed, unseen
}
