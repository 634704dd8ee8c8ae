// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/slipwayclient"
)

var resource = schema.GroupResource{Group: lifecyclev1alpha1.GroupKubernetes, Resource: "lifecycletransitions"}

// once fails with err at the first call.
func once(err error) func() error {
	return func() error {
		defer func() { err = nil }()
		return err
	}
}

// server is an API server with these transitions, that fails as it is told.
type server struct {
	exist                       []lifecyclev1alpha1.LifecycleTransition
	connect, get, write, update func() error
}

func (s server) client() client.WithWatch {
	builder := fake.NewClientBuilder().WithReturnManagedFields().WithScheme(apigroup.In(lifecyclev1alpha1.GroupKubernetes).Scheme())
	for _, transition := range s.exist {
		builder = builder.WithObjects(&transition)
	}
	return builder.WithInterceptorFuncs(interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if s.get != nil {
				if err := s.get(); err != nil {
					return err
				}
			}
			return c.Get(ctx, key, obj, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if s.write != nil {
				if err := s.write(); err != nil {
					return err
				}
			}
			return c.Create(ctx, obj, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			if s.update != nil {
				if err := s.update(); err != nil {
					return err
				}
			}
			return c.Update(ctx, obj, opts...)
		},
	}).Build()
}

// writtenBy is the transition, whose spec these have written.
func writtenBy(transition lifecyclev1alpha1.LifecycleTransition, managers ...string) lifecyclev1alpha1.LifecycleTransition {
	for _, manager := range managers {
		transition.ManagedFields = append(transition.ManagedFields, metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: lifecyclev1alpha1.GroupKubernetes + "/" + lifecyclev1alpha1.Version,
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:sla":{}}}`),
		})
	}
	return transition
}

func TestPublish(t *testing.T) {
	notFound := apierrors.NewNotFound(resource, "t")
	slower := transition("t", "d")
	slower.Spec.SLA = &metav1.Duration{Duration: time.Hour}

	cases := map[string]struct {
		server server
		want   []lifecyclev1alpha1.LifecycleTransition
		// wantErr is what Serve ends with; empty: it goes on.
		wantErr string
		// wantLogs counts the lines.
		wantLogs int
		// wantTook is how long it takes, at least: nothing without a second try.
		wantTook time.Duration
	}{
		"absent ones are created, with the driver's name": {
			want: []lifecyclev1alpha1.LifecycleTransition{transition("t", "d"), transition("u", "d")},
		},
		"what exists is left alone": {
			server: server{
				exist: []lifecyclev1alpha1.LifecycleTransition{transition("t", "d"), transition("u", "d")},
				write: func() error { return errors.New("must not write") },
			},
			want: []lifecyclev1alpha1.LifecycleTransition{transition("t", "d"), transition("u", "d")},
		},
		"what exists with other fields is left alone, and said once": {
			server:   server{exist: []lifecyclev1alpha1.LifecycleTransition{slower}},
			want:     []lifecyclev1alpha1.LifecycleTransition{slower, transition("u", "d")},
			wantLogs: 1,
		},
		"what this driver has published with other fields is updated": {
			server: server{exist: []lifecyclev1alpha1.LifecycleTransition{writtenBy(slower, fieldManager)}},
			want:   []lifecyclev1alpha1.LifecycleTransition{transition("t", "d"), transition("u", "d")},
		},
		"what an administrator has changed since is left alone, and said once": {
			server:   server{exist: []lifecyclev1alpha1.LifecycleTransition{writtenBy(slower, fieldManager, "kubectl-edit")}},
			want:     []lifecyclev1alpha1.LifecycleTransition{slower, transition("u", "d")},
			wantLogs: 1,
		},
		"what may not be updated is left alone, and said once": {
			server: server{
				exist:  []lifecyclev1alpha1.LifecycleTransition{writtenBy(slower, fieldManager)},
				update: func() error { return apierrors.NewForbidden(resource, "t", errors.New("no")) },
			},
			want:     []lifecyclev1alpha1.LifecycleTransition{slower, transition("u", "d")},
			wantLogs: 1,
		},
		"an update that another node was quicker with is tried again": {
			server: server{
				exist:  []lifecyclev1alpha1.LifecycleTransition{writtenBy(slower, fieldManager)},
				update: once(apierrors.NewConflict(resource, "t", errors.New("changed"))),
			},
			want:     []lifecyclev1alpha1.LifecycleTransition{transition("t", "d"), transition("u", "d")},
			wantLogs: 1,
			wantTook: time.Second,
		},
		"another node that was quicker is no conflict": {
			server: server{
				exist: []lifecyclev1alpha1.LifecycleTransition{transition("t", "d")},
				get:   once(notFound),
			},
			want: []lifecyclev1alpha1.LifecycleTransition{transition("t", "d"), transition("u", "d")},
		},
		"one that belongs to another driver": {
			server:  server{exist: []lifecyclev1alpha1.LifecycleTransition{transition("t", "other")}},
			want:    []lifecyclev1alpha1.LifecycleTransition{transition("t", "other")},
			wantErr: `publish transition t: the transition belongs to another driver: it exists with spec.driver "other", this driver is "d"`,
		},
		"one that another driver has just created": {
			server: server{
				exist: []lifecyclev1alpha1.LifecycleTransition{transition("t", "other")},
				get:   once(notFound),
			},
			want:    []lifecyclev1alpha1.LifecycleTransition{transition("t", "other")},
			wantErr: `publish transition t: the transition belongs to another driver: it exists with spec.driver "other", this driver is "d"`,
		},
		"one that the server says is not valid": {
			server:  server{write: once(apierrors.NewInvalid(schema.GroupKind{Kind: "LifecycleTransition"}, "t", nil))},
			wantErr: `publish transition t: LifecycleTransition "t" is invalid`,
		},
		"a server that cannot be reached is tried again": {
			server:   server{connect: once(errors.New("connection refused"))},
			want:     []lifecyclev1alpha1.LifecycleTransition{transition("t", "d"), transition("u", "d")},
			wantLogs: 1,
			wantTook: time.Second,
		},
		"a right that is not there yet is waited for": {
			server:   server{write: once(apierrors.NewForbidden(resource, "t", errors.New("no")))},
			want:     []lifecyclev1alpha1.LifecycleTransition{transition("t", "d"), transition("u", "d")},
			wantLogs: 1,
			wantTook: time.Second,
		},
		"the API not being installed yet is waited for": {
			server:   server{connect: once(slipwayclient.ErrNotInstalled)},
			want:     []lifecyclev1alpha1.LifecycleTransition{transition("t", "d"), transition("u", "d")},
			wantLogs: 1,
			wantTook: time.Second,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				logs := 0
				logger := funcr.New(func(_, _ string) { logs++ }, funcr.Options{})
				ctx := klog.NewContext(t.Context(), logger)
				c := tc.server.client()
				p := testPublisher(tc.server, c)

				var err error
				spent := took(func() { err = p.publishAll(ctx) })
				if (err == nil) != (tc.wantErr == "") || err != nil && !strings.HasPrefix(err.Error(), tc.wantErr) {
					t.Errorf("error is %v, want %q", err, tc.wantErr)
				}
				if diff := cmp.Diff(tc.want, transitions(t, ctx, c), cmpopts.EquateEmpty()); diff != "" {
					t.Errorf("transitions (-want +got):\n%s", diff)
				}
				if logs != tc.wantLogs {
					t.Errorf("%d lines were logged, want %d", logs, tc.wantLogs)
				}
				if spent < tc.wantTook || spent > 2*tc.wantTook {
					t.Errorf("it took %s, want about %s", spent, tc.wantTook)
				}
			})
		})
	}
}

func testPublisher(s server, c client.Client) *publisher {
	config := Config{
		DriverName:  "d",
		RESTConfig:  &rest.Config{},
		Transitions: []lifecyclev1alpha1.LifecycleTransition{transition("t", ""), transition("u", "")},
	}
	p := newPublisher(config.withDefaults())
	p.connect = func(context.Context) (client.Client, error) {
		if s.connect != nil {
			if err := s.connect(); err != nil {
				return nil, err
			}
		}
		return c, nil
	}
	return p
}

func transitions(t *testing.T, ctx context.Context, c client.Client) []lifecyclev1alpha1.LifecycleTransition {
	t.Helper()
	var list lifecyclev1alpha1.LifecycleTransitionList
	if err := c.List(ctx, &list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		list.Items[i].TypeMeta = metav1.TypeMeta{}
		list.Items[i].ResourceVersion, list.Items[i].ManagedFields = "", nil
	}
	return list.Items
}

func TestPublishEndsWithServe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(quiet(t))
		s := server{connect: func() error { return errors.New("connection refused") }}
		ended := make(chan error, 1)
		go func() { ended <- testPublisher(s, s.client()).run(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// An agent that was without the driver for 30 s has deleted the transition of its node.
func TestADeletedTransitionIsPublishedAfterTheNextRegistration(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(quiet(t))
		s := server{}
		c := s.client()
		p := testPublisher(s, c)
		ended := make(chan error, 1)
		go func() { ended <- p.run(ctx) }()
		synctest.Wait()
		gone := transition("t", "d")
		if err := c.Delete(ctx, &gone); err != nil {
			t.Fatal(err)
		}
		registered := &registration{name: "d", registered: p.again}
		if _, err := registered.NotifyRegistrationStatus(ctx, &registerapi.RegistrationStatus{PluginRegistered: true}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if diff := cmp.Diff([]lifecyclev1alpha1.LifecycleTransition{transition("t", "d"), transition("u", "d")}, transitions(t, ctx, c)); diff != "" {
			t.Errorf("transitions (-want +got):\n%s", diff)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestPublishNothingWithoutServer(t *testing.T) {
	config := Config{DriverName: "d", Transitions: []lifecyclev1alpha1.LifecycleTransition{transition("t", "")}}
	if err := newPublisher(config.withDefaults()).publishAll(quiet(t)); err != nil {
		t.Error(err)
	}
}
