// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"reflect"
	"strings"
	"testing"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Each field that a NodeMaintenance can be created with has a flag, or the help says how to
// get at it.
func TestEachFieldOfAMaintenanceCanBeAskedFor(t *testing.T) {
	const argument, later = "an argument", "nobody asks for it who creates one"
	by := map[string]string{
		"spec.nodeSelector": argument,
		"spec.stage":        "stage", "spec.reason": "reason", "spec.allow": "allow-all-control-plane-nodes", "spec.hooks": "hook",
		"spec.drain.mode": "eviction-mode", "spec.drain.gracePeriodSeconds": "grace-period",
		"spec.drain.podTimeout": "pod-timeout", "spec.drain.timeout": "drain-timeout",
		"spec.rollout.maxUnavailable": "max-unavailable", "spec.rollout.topologyKey": "topology-key", "spec.rollout.perDomain": "per-domain",
		"spec.rollout.batches": "batches", "spec.rollout.pauseAfter": "pause-after", "spec.rollout.failureThreshold": "failure-threshold",
		"spec.rollout.maxPendingPods": "max-pending-pods",
		"spec.window.notBefore":       "not-before", "spec.window.deadline": "deadline", "spec.window.atDeadline": "at-deadline",
		"spec.work.type": "work", "spec.work.podTemplate": "job", "spec.work.timeout": "work-timeout", "spec.work.backoffLimit": "backoff-limit",
		"spec.requestedBy": later, "spec.paused": later, "spec.retry": later,
	}
	tool, _, _ := testTool()
	command := newMaintain(tool)
	for _, field := range fieldsOf(reflect.TypeFor[slipwayv1alpha1.NodeMaintenanceSpec](), "spec") {
		flag, known := by[field]
		delete(by, field)
		switch {
		case flag == argument, flag == later:
		case known && command.Flags().Lookup(flag) == nil:
			t.Errorf("%s has no flag --%s", field, flag)
		case !known && !strings.Contains(command.Long, field):
			t.Errorf("%s has no flag, and the help does not say how to get at it", field)
		}
	}
	for field := range by {
		t.Errorf("there is no %s", field)
	}
	if !strings.Contains(command.Long, "kubectl create -f") {
		t.Error("the help does not say how what has no flag is created")
	}
}

// fieldsOf are the paths of the fields, those of structs of this API taken apart.
func fieldsOf(of reflect.Type, path string) (all []string) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		at, kind := path+"."+name, field.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if kind.Kind() == reflect.Struct && kind.PkgPath() == of.PkgPath() {
			all = append(all, fieldsOf(kind, at)...)
			continue
		}
		all = append(all, at)
	}
	return all
}
