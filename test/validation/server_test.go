// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/lifecycle"
	_ "k8s.io/kubernetes/pkg/apis/lifecycle/install" // into the scheme
	"k8s.io/kubernetes/pkg/registry/lifecycle/eviction"
	"k8s.io/kubernetes/pkg/registry/lifecycle/evictionrequest"
	testingclock "k8s.io/utils/clock/testing"
)

// version is the resource version of all objects: whoever writes has seen what is there.
const version = "1"

// server is the part of the API server that judges Evictions and EvictionRequests, with
// what it has stored.
type server struct {
	clock   *testingclock.FakePassiveClock
	objects map[string]runtime.Object
}

func newServer() *server {
	return &server{clock: testingclock.NewFakePassiveClock(metav1.Now().Time), objects: map[string]runtime.Object{}}
}

// strategies are those of a kind: for the object, and for its status.
func (s *server) strategies(o runtime.Object) (whole rest.RESTCreateUpdateStrategy, status rest.RESTUpdateStrategy, err error) {
	switch o.(type) {
	case *lifecycle.Eviction:
		whole := eviction.NewStrategy(s.clock)
		return whole, eviction.NewStatusStrategy(whole), nil
	case *lifecycle.EvictionRequest:
		whole := evictionrequest.NewStrategy()
		return whole, evictionrequest.NewStatusStrategy(whole), nil
	default:
		return nil, nil, fmt.Errorf("a %T was not expected", o)
	}
}

// do does a write as the server does at the time at which it was asked for.
func (s *server) do(w asked) error {
	s.clock.SetTime(w.At)
	o, _, err := legacyscheme.Codecs.UniversalDecoder(lifecycle.SchemeGroupVersion).Decode(w.Object, nil, nil)
	if err != nil {
		return err
	}
	whole, status, err := s.strategies(o)
	if err != nil {
		return err
	}
	accessor, err := meta.Accessor(o)
	if err != nil {
		return err
	}
	key := fmt.Sprintf("%T %s", o, accessor.GetName())
	ctx := requestFor(accessor.GetNamespace(), w.Verb)
	stored, there := s.objects[key]
	switch w.Verb {
	case "create":
		return s.create(ctx, key, whole, o, accessor)
	case "delete":
		delete(s.objects, key)
		return nil
	case "update":
		accessor.SetResourceVersion(version)
		return s.update(ctx, key, there, whole, o, stored)
	case "update status":
		accessor.SetResourceVersion(version)
		return s.update(ctx, key, there, status, o, stored)
	default:
		return fmt.Errorf("verb %q is not known", w.Verb)
	}
}

// create keeps the UID and the time of the recording, where the server gives its own.
func (s *server) create(ctx context.Context, key string, strategy rest.RESTCreateStrategy, o runtime.Object, accessor metav1.Object) error {
	uid := accessor.GetUID()
	rest.FillObjectMetaSystemFields(accessor)
	if err := rest.BeforeCreate(strategy, ctx, o); err != nil {
		return err
	}
	if uid != "" {
		accessor.SetUID(uid)
	}
	accessor.SetCreationTimestamp(metav1.NewTime(s.clock.Now()))
	accessor.SetResourceVersion(version)
	s.objects[key] = o
	return nil
}

func (s *server) update(ctx context.Context, key string, there bool, strategy rest.RESTUpdateStrategy, o, stored runtime.Object) error {
	if !there {
		return errors.New(key + " is not there")
	}
	if err := rest.BeforeUpdate(strategy, ctx, o, stored.DeepCopyObject()); err != nil {
		return err
	}
	s.objects[key] = o
	return nil
}

// requestFor is the context that validation reads the version and the subresource from.
func requestFor(namespace, verb string) context.Context {
	info := &request.RequestInfo{APIGroup: lifecycle.GroupName, APIVersion: "v1alpha1", IsResourceRequest: true, Namespace: namespace, Verb: "update"}
	switch verb {
	case "create":
		info.Verb = "create"
	case "update status":
		info.Subresource = "status"
	}
	return request.WithRequestInfo(request.WithNamespace(context.Background(), namespace), info)
}
