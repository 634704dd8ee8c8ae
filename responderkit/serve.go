// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"errors"
	"fmt"
	"sync"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
)

// Serve runs the function for each Eviction in which the responder is active, until ctx
// ends. Then it cancels the runs with [ErrShutdown], waits until they have returned, and
// returns nil. When it returns, everything that it started has ended.
//
// It fails if the config is invalid. A server that is unreachable, does not serve the API
// or denies access is not a failure: Serve logs it, and retries.
//
// The logger comes from ctx (klog.NewContext).
func Serve(ctx context.Context, config Config, run RunFunc) error {
	r, err := newResponder(config, run)
	if err != nil {
		return fmt.Errorf("responder %s: %w", config.Name, err)
	}
	if err := r.serve(ctx); err != nil {
		return fmt.Errorf("responder %s: %w", config.Name, err)
	}
	return nil
}

type responder struct {
	config Config
	run    RunFunc
	client kubernetes.Interface
	queue  workqueue.TypedInterface[cache.ObjectName]
}

func newResponder(config Config, run RunFunc) (*responder, error) {
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("invalid config: %w", err)
	}
	if run == nil {
		return nil, errors.New("the RunFunc is missing")
	}
	r := &responder{config: config.withDefaults(), run: run, queue: workqueue.NewTyped[cache.ObjectName]()}
	// CRDs may serve the group, and they do not support protobuf.
	asJSON := rest.CopyConfig(config.RESTConfig)
	asJSON.ContentType, asJSON.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	var err error
	if r.client, err = kubernetes.NewForConfig(asJSON); err != nil {
		return nil, fmt.Errorf("build client: %w", err)
	}
	return r, nil
}

func (r *responder) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	informer, err := r.watch()
	if err != nil {
		return err
	}
	var watching sync.WaitGroup
	watching.Go(func() { informer.RunWithContext(ctx) })
	t := &table{
		name:    r.config.Name,
		queue:   r.queue,
		find:    finder(informer.GetStore()),
		start:   r.start,
		maxRuns: r.config.MaxRuns,
		jobs:    map[cache.ObjectName]*job{},
		going:   map[types.UID]*job{},
	}
	t.run(ctx)
	watching.Wait()
	return nil
}

// start begins the run for an Eviction.
func (r *responder) start(ctx context.Context, key cache.ObjectName, e *evictionv1alpha1.Eviction) *job {
	target := e.Spec.Target.Pod
	logger := klog.FromContext(ctx).WithValues("eviction", key, "evictionUID", e.UID, "pod", klog.KRef(e.Namespace, target.Name), "podUID", target.UID)
	logger.Info("The responder is active", "responder", r.config.Name)
	j := newJob(r.config.Name, r.config.Clock, server{client: r.client.LifecycleV1alpha1(), manager: managerOf(r.config.Name)}, e)
	description := toEviction(e, r.client.CoreV1())
	j.begin(klog.NewContext(ctx, logger), func(ctx context.Context, report func(Progress)) error {
		return r.run(ctx, description, report)
	}, func() { r.queue.Add(key) })
	return j
}
