// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
)

// shelf is a server with many core Events of the Node, and many Pods. It lists by name, as
// servers do, which is the oldest first.
type shelf struct {
	events, pods   int
	blockers       []lifecyclev1alpha1.Blocker
	bound          int // LifecycleEvents
	lists, biggest int
}

func (s *shelf) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	into.SetName(key.Name)
	into.SetNamespace(key.Namespace)
	return nil
}

func (s *shelf) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var asked client.ListOptions
	asked.ApplyOptions(options)
	switch list := into.(type) {
	case *lifecyclev1alpha1.LifecycleEventList:
		for i := range max(s.bound, 1) {
			e := lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("drain-%d", i)}}
			e.Status.Blockers = s.blockers
			list.Items = append(list.Items, e)
		}
	case *corev1.EventList:
		if !strings.Contains(asked.FieldSelector.String(), "involvedObject.kind=Node") {
			return nil
		}
		from, to := s.page(&asked, s.events, list)
		for i := from; i < to; i++ {
			at := metav1.NewTime(time.Unix(int64(i), 0))
			list.Items = append(list.Items, corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("e%06d", i)}, LastTimestamp: at})
		}
	case *corev1.PodList:
		if asked.Namespace == "" {
			return nil // those of the node, and Slipway's
		}
		from, to := s.page(&asked, s.pods, list)
		list.Items = make([]corev1.Pod, to-from)
	}
	return nil
}

// page is what is listed of so many.
func (s *shelf) page(asked *client.ListOptions, all int, list client.ObjectList) (from, to int) {
	s.lists++
	from, _ = strconv.Atoi(asked.Continue)
	to = all
	if asked.Limit > 0 && from+int(asked.Limit) < all {
		to = from + int(asked.Limit)
		list.SetContinue(strconv.Itoa(to))
	}
	s.biggest = max(s.biggest, to-from)
	return from, to
}

func (s *shelf) read(t *testing.T) explain.Facts {
	t.Helper()
	f, err := (&Reader{s}).Node(t.Context(), "worker-1")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func whyUnread(f explain.Facts, kind explain.Kind) string {
	for _, u := range f.Unread {
		if u.Kind == kind {
			return u.Why
		}
	}
	return ""
}

func TestOfManyCoreEventsTheNewestAreTold(t *testing.T) {
	for name, tc := range map[string]struct {
		events, first, last, lists int
		why                        string
	}{
		"few":                {100, 0, 99, 1, ""},
		"more than are told": {250, 150, 249, 1, "of the 250 of Node worker-1, the report has the newest 100"},
		"more than a page":   {1200, 1100, 1199, 3, "of the 1200 of Node worker-1, the report has the newest 100"},
		"many pages":         {9000, 8900, 8999, 18, "of the 9000 of Node worker-1, the report has the newest 100"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shelf{events: tc.events}
			f := s.read(t)
			if len(f.CoreEvents) != tc.last-tc.first+1 {
				t.Fatalf("%d core Events", len(f.CoreEvents))
			}
			for i, e := range f.CoreEvents {
				if want := fmt.Sprintf("e%06d", tc.first+i); e.Name != want {
					t.Fatalf("core Event %d is %s, want %s", i, e.Name, want)
				}
			}
			if why := whyUnread(f, explain.CoreEvents); why != tc.why {
				t.Errorf("it says %q, want %q", why, tc.why)
			}
			if s.lists != tc.lists || s.biggest > perPage {
				t.Errorf("%d requests of up to %d, want %d", s.lists, s.biggest, tc.lists)
			}
		})
	}
}

func TestOfManyLifecycleEventsItIsSaidThatNotAllCoreEventsAreRead(t *testing.T) {
	for bound, want := range map[int]string{
		10: "",
		12: "read for the Node and 10 LifecycleEvents, not for 2 more",
	} {
		if why := whyUnread((&shelf{bound: bound}).read(t), explain.CoreEvents); why != want {
			t.Errorf("of %d it says %q, want %q", bound, why, want)
		}
	}
}

func TestAllPodsOfABudgetAreRead(t *testing.T) {
	inTheWay := []lifecyclev1alpha1.Blocker{{Object: "Pod shop/a", Reason: "BudgetExhausted", By: "PodDisruptionBudget shop/cart"}}
	const pods = 6000
	f := (&shelf{pods: pods, blockers: inTheWay}).read(t)
	if len(f.Budgets) != 1 || len(f.Budgets[0].Pods) != pods {
		t.Errorf("of %d pods: %d budgets, with %d pods", pods, len(f.Budgets), len(f.Budgets[0].Pods))
	}
	if why := whyUnread(f, explain.BudgetPods); why != "" {
		t.Errorf("of %d pods it says %q", pods, why)
	}
}
