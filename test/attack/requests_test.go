// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

const (
	overriding = `{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters","escalation":{"deleteAfter":"1s"}}`
	daemons    = `{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters","targets":[{"podType":"Default"},{"podType":"DaemonSet"}]}`
	static     = `{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters","targets":[{"podType":"Static"}]}`
	harmless   = `{"apiVersion":"slipway.dev/v1alpha1","kind":"DrainParameters","escalation":{"deleteAfter":"0s","killAfter":"5m"},"targets":[{"podType":"Default"}]}`
	others     = `{"kind":"FirmwareParameters","escalation":"now","targets":7}`
)

// Who may ask for what.
var onRequests = map[string]attempt{
	"ask for a drain of its node":        {agentA, ask(ofA, "", ""), byRBAC, operator},
	"ask for a drain of another node":    {agentA, ask(ofB, "", ""), byRBAC, operator},
	"ask for a drain as its node":        {nodeA, ask(ofA, "", ""), byImpersonation, operator},
	"ask for a drain without a role":     {viewer, ask(ofB, "", ""), byRBAC, operator},
	"ask in the name of another":         {operator, ask(ofB, "alice", ""), byRequester, controller},
	"ask in the controller's name":       {operator, ask(ofB, controllerAccount, ""), byRequester, controller},
	"ask in another's name, with all":    {root, ask(ofB, "alice", ""), byRequester, controller},
	"release another controller's claim": {operator, patchEvent(waitingOf(ofB), `{"metadata":{"annotations":{"slipway.dev/release-claim":"yes"}}}`), byReleases, boss},
	"release the holds of other users":   {operator, ask(ofB, "", `{"release":"All"}`), byHolds, boss},
	"stop a maintenance by its name":     {operator, create(func(s *scene) metav1.ObjectMeta { return metav1.ObjectMeta{Name: "maintenance-" + s.nodes[ofB].Name} }), byRecords, controller},
	"stop it by its label": {operator, create(func(*scene) metav1.ObjectMeta {
		return metav1.ObjectMeta{GenerateName: "attack-", Labels: map[string]string{slipwayv1alpha1.MaintenanceEventLabel: ""}}
	}), byRecords, controller},
	"fill all memories with an event": {operator, create(func(*scene) metav1.ObjectMeta {
		return metav1.ObjectMeta{GenerateName: "attack-", Annotations: map[string]string{"example.com/large": large}}
	}), bySizes, nobody},
	"have another driver wipe a node":    {operator, askForAnotherDriver, byUse, boss},
	"have the controller wipe a node":    {controller, askForAnotherDriver, byUse, boss},
	"break the glass":                    {operator, emergency(ofB), byBreakGlass, boss},
	"break the glass, as the controller": {controller, emergency(ofB), byBreakGlass, boss},
	"have budgets overridden":            {operator, ask(ofB, "", overriding), byOverride, boss},
	"have pods of DaemonSets moved":      {operator, ask(ofB, "", daemons), byOverride, boss},
	"have static pods moved":             {operator, ask(ofB, "", static), byOverride, boss},
	"have budgets overridden afterwards": {operator, patchEvent(waitingOf(ofB), parametersPatch(`"escalation":{"deleteAfter":"1s"}`)), byOverride, boss},
	"have DaemonSets moved afterwards":   {operator, patchEvent(claimedOf(ofB), parametersPatch(`"targets":[{"podType":"DaemonSet"}]`)), byOverride, boss},
	"have the controller override":       {controller, ask(ofB, "", overriding), byOverride, boss},
}

// emergency creates an event that breaks the glass.
func emergency(of string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		return h.kinds.Create(ctx, &lifecyclev1alpha1.LifecycleEvent{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-", Annotations: map[string]string{lifecyclev1alpha1.BreakGlassAnnotation: "true"}},
			Spec: lifecyclev1alpha1.LifecycleEventSpec{
				TransitionName: harness.Drain, BindingNode: s.nodes[of].Name, Reason: "fire",
			},
		}, client.DryRunAll)
	}
}

// create creates an event of a node with these metadata.
func create(metadata func(*scene) metav1.ObjectMeta) try {
	return func(ctx context.Context, s *scene, h hand) error {
		return h.kinds.Create(ctx, &lifecyclev1alpha1.LifecycleEvent{
			ObjectMeta: metadata(s), Spec: lifecyclev1alpha1.LifecycleEventSpec{TransitionName: harness.Return, BindingNode: s.nodes[ofB].Name},
		}, client.DryRunAll)
	}
}

// ask creates an event for a node.
func ask(of, requester, parameters string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		wanted := &lifecyclev1alpha1.LifecycleEvent{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"},
			Spec: lifecyclev1alpha1.LifecycleEventSpec{
				TransitionName: harness.Drain, BindingNode: s.nodes[of].Name, RequestedBy: requester,
			},
		}
		if parameters != "" {
			wanted.Spec.Parameters = &runtime.RawExtension{Raw: []byte(parameters)}
		}
		return h.kinds.Create(ctx, wanted, client.DryRunAll)
	}
}

// askForAnotherDriver creates an event whose driver is not the drain driver.
func askForAnotherDriver(ctx context.Context, s *scene, h hand) error {
	return h.kinds.Create(ctx, &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"},
		Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: s.transitions[ofB].Name, BindingNode: s.nodes[ofB].Name},
	}, client.DryRunAll)
}

// replaceEvent is an update, with nothing changed.
func replaceEvent(of event) try {
	return func(ctx context.Context, s *scene, h hand) error {
		return h.kinds.Update(ctx, of(s).DeepCopy(), client.DryRunAll)
	}
}
