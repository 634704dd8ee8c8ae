// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// deaf is an API server that cannot be reached.
type deaf struct{}

func (deaf) List(context.Context, metav1.ListOptions) (*corev1.PodList, error) {
	return nil, syscall.ECONNREFUSED
}

func (deaf) Watch(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return nil, syscall.ECONNREFUSED
}

// The Reflector waits on its clock, up to a minute, without a look at its context, while nobody listens.
func TestAWatchEndsAtOnceWhileTheServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		s := newShelf(toPod, func() {})
		done := make(chan struct{})
		go func() {
			defer close(done)
			follow(ctx, deaf{}, &corev1.Pod{}, "", true, s)
		}()
		<-time.After(10 * time.Minute)
		if err := s.trouble(); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("the trouble is %v", err)
		}
		begin := time.Now()
		stop()
		<-done
		if took := time.Since(begin); took != 0 {
			t.Errorf("it took %s", took)
		}
	})
}

func TestShelf(t *testing.T) {
	s := newShelf(toPod, func() {})
	names := func() map[types.UID]string {
		all := map[types.UID]string{}
		pods, _ := s.list()
		for _, p := range pods {
			all[p.UID] = p.Name
		}
		return all
	}
	if _, synced := s.list(); synced {
		t.Error("synced before anything was shown")
	}
	first, second := newPod("a"), newPod("a", func(p *corev1.Pod) { p.UID = "again" })
	_ = s.Replace([]any{first}, "1")
	_ = s.Add(second)
	_ = s.Delete(first) // the end of the old one, told after the beginning of the new one
	if got := names(); len(got) != 1 || got["again"] != "a" {
		t.Errorf("got %v, want the new one alone", got)
	}
	_ = s.Replace(nil, "2")
	if pods, synced := s.list(); len(pods) != 0 || !synced {
		t.Errorf("got %d pods, synced %t", len(pods), synced)
	}
}

func TestShelfRemembersTroubleWhileItLasts(t *testing.T) {
	s := newShelf(toPod, func() {})
	s.heard(t.Context(), errors.New("away"))
	s.heard(t.Context(), apierrors.NewResourceExpired("too old")) // not worth telling, and not good news
	if s.trouble() == nil {
		t.Error("forgotten")
	}
	s.heard(t.Context(), nil)
	if err := s.trouble(); err != nil {
		t.Errorf("still %v", err)
	}
}

func TestWhatIsNotNeededIsNotKept(t *testing.T) {
	node := toNode(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{{}}},
		Status:     corev1.NodeStatus{Images: []corev1.ContainerImage{{}}},
	})
	pod := toPod(newPod("a", func(p *corev1.Pod) { p.ManagedFields = []metav1.ManagedFieldsEntry{{}} }))
	if node.ManagedFields != nil || node.Status.Images != nil || pod.ManagedFields != nil {
		t.Error("kept")
	}
}
