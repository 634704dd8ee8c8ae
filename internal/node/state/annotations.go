// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
	"github.com/slipway-k8s/slipway/nodelease"
)

// The annotations of a Node that other packages do not define.
const (
	// HomeAnnotation records the API group from which the node's events were read last.
	HomeAnnotation = "slipway.dev/api-home"
	// DriversAnnotation lists the drivers that are registered with the node's agent, for administrators and for the controller,
	// which claims no event for one of them.
	DriversAnnotation = "slipway.dev/drivers"
	// LeaseAnnotation records the holder of the node's lease, and the purpose.
	LeaseAnnotation = nodelease.Annotation
	// MaintenancesAnnotation lists the maintenances that have finished their work on the node.
	MaintenancesAnnotation = slipwayv1alpha1.MaintenancesAnnotation
)

// annotations and labels are all that this package writes, and an admission policy (hold.UncordonedBy); slipway-host keeps those in byHost as long as it runs.
var (
	annotations = []string{
		CordonsAnnotation, HomeAnnotation, DriversAnnotation, MaintenancesAnnotation, LeaseAnnotation, slipwayv1alpha1.KeptAway,
		shutdown.Annotation, shutdown.DrainAnnotation, shutdown.DelayAnnotation, staticpod.Annotation, staticpod.HostAnnotation,
		hold.UncordonedBy, hold.HeldBy,
	}
	labels = []string{slipwayv1alpha1.KeptAway, shutdown.Label}
	byHost = []string{shutdown.DelayAnnotation, staticpod.HostAnnotation}
)

// Marked reports whether the Node has an annotation or a label of this package.
func Marked(node *corev1.Node) bool {
	return has(node.Labels, labels) || has(node.Annotations, annotations)
}

// MarkedByHost reports whether the Node has an annotation of slipway-host, running or removed.
func MarkedByHost(node *corev1.Node) bool { return has(node.Annotations, byHost) }

func has(of map[string]string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { _, found := of[name]; return found })
}

// metadata returns the patch that sets annotations, and labels if there are any. A nil value removes its key.
func metadata(annotations, labels map[string]any) map[string]any {
	m := map[string]any{"annotations": annotations}
	if labels != nil {
		m["labels"] = labels
	}
	return map[string]any{"metadata": m}
}

// orNull returns a text, or null if it is empty: null removes an annotation or a label.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func nulls(names []string) map[string]any {
	all := map[string]any{}
	for _, name := range names {
		all[name] = nil
	}
	return all
}

// annotate sets an annotation. The subresource status needs a smaller permission than the Node.
func (w *Writer) annotate(ctx context.Context, what, annotation string, value any, subresources ...string) error {
	_, err := w.patch(ctx, what, types.MergePatchType, metadata(map[string]any{annotation: value}, nil), subresources...)
	return err
}

// Forget removes the annotations and labels of this package, for an uninstall. Undo the cordons before: their record
// is lost.
func (w *Writer) Forget(ctx context.Context) error { return w.forget(ctx, annotations) }

// ForgetAllButStaticPods is [Writer.Forget] for a machine whose static pods stay away: the Node has the only record.
func (w *Writer) ForgetAllButStaticPods(ctx context.Context) error {
	return w.forget(ctx, slices.DeleteFunc(slices.Clone(annotations), func(a string) bool { return a == staticpod.HostAnnotation }))
}

func (w *Writer) forget(ctx context.Context, annotations []string) error {
	_, err := w.patch(ctx, "the annotations", types.MergePatchType, metadata(nulls(annotations), nulls(labels)))
	return err
}

// ForgetHost removes the annotations of slipway-host after its removal.
func (w *Writer) ForgetHost(ctx context.Context) error {
	_, err := w.patch(ctx, "the annotations", types.MergePatchType, metadata(nulls(byHost), nil))
	return err
}

// homeMemory is the value of [HomeAnnotation].
type homeMemory struct {
	Group string `json:"group"`
	// Since is the time at which the API moved to this group from another one.
	Since time.Time `json:"since,omitzero"`
}

// RememberHome records the API group from which events are read now. If another group served them before, it returns
// the time of the move: older events come from the storage of long ago. Otherwise the time is zero.
func (w *Writer) RememberHome(ctx context.Context, group string) (time.Time, error) {
	node, err := w.nodes.Get(ctx, w.nodeName, metav1.GetOptions{})
	if err != nil {
		return time.Time{}, fmt.Errorf("read the API home of node %s: %w", w.nodeName, err)
	}
	memory, changed := movedHome(node, group, w.clock.Now())
	if !changed {
		return memory.Since, nil
	}
	text, err := json.Marshal(memory)
	if err != nil {
		return time.Time{}, fmt.Errorf("encode annotation %s: %w", HomeAnnotation, err)
	}
	return memory.Since, w.annotate(ctx, "the API home", HomeAnnotation, string(text))
}

// clockStep is the largest step back of a machine's clock that leaves a recorded move in place.
const clockStep = time.Minute

// movedHome returns the value to record, and whether it differs from the recorded one. A move in the future is damage:
// all events of the node would fail.
func movedHome(node *corev1.Node, group string, now time.Time) (homeMemory, bool) {
	var memory homeMemory
	if err := json.Unmarshal([]byte(node.Annotations[HomeAnnotation]), &memory); err != nil || memory.Group == "" {
		return homeMemory{Group: group}, true
	}
	if memory.Group == group && !memory.Since.After(now.Add(clockStep)) {
		return memory, false
	}
	return homeMemory{Group: group, Since: now.UTC().Truncate(time.Second)}, true
}

// Drivers returns the registered drivers. known is false if the Node has no such annotation.
func Drivers(node *corev1.Node) (names []string, known bool) {
	text, known := node.Annotations[DriversAnnotation]
	if text == "" {
		return nil, known
	}
	return strings.Split(text, ","), known
}

// SetDrivers records the registered drivers, unless the Node lists them already.
func (w *Writer) SetDrivers(ctx context.Context, names []string) error {
	node, err := w.nodes.Get(ctx, w.nodeName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the drivers of node %s: %w", w.nodeName, err)
	}
	if listed, known := Drivers(node); known && slices.Equal(listed, names) {
		return nil
	}
	return w.annotate(ctx, "the drivers", DriversAnnotation, strings.Join(names, ","))
}

// SetLease records the holder of the node's lease; an empty value removes the record. It ignores a deleted Node.
func (w *Writer) SetLease(ctx context.Context, value string) error {
	err := w.annotate(ctx, "the lease", LeaseAnnotation, orNull(value))
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// ShowHolders shows the users that hold the node; an empty text removes that. It ignores a deleted Node.
func (w *Writer) ShowHolders(ctx context.Context, text string) error {
	err := w.annotate(ctx, "the holders", hold.HeldBy, orNull(text))
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// RecordMaintenances replaces the record of the maintenances that have finished their work on the Node; an empty text
// removes it. It returns the Node after that, or [ErrStale] if the Node has changed since it was seen.
func (w *Writer) RecordMaintenances(ctx context.Context, seen *corev1.Node, text string) (*corev1.Node, error) {
	node, err := w.patch(ctx, "the maintenances", types.MergePatchType, map[string]any{"metadata": map[string]any{
		"resourceVersion": seen.ResourceVersion, "annotations": map[string]any{MaintenancesAnnotation: orNull(text)},
	}})
	if apierrors.IsInvalid(err) { // the record is too long, and stays so
		return nil, err
	}
	return node, stale(err)
}

// KeepAway records the pods of DaemonSets that are kept away from the Node, in an annotation and in the label by which
// admission finds the Node; an empty text removes both. It returns the Node after that: nil if it was deleted.
func (w *Writer) KeepAway(ctx context.Context, which string) (*corev1.Node, error) {
	label := ""
	if which != "" {
		label = slipwayv1alpha1.KeptAwayDaemonSets
	}
	node, err := w.patch(ctx, "the pods to keep away", types.MergePatchType, metadata(
		map[string]any{slipwayv1alpha1.KeptAway: orNull(which)}, map[string]any{slipwayv1alpha1.KeptAway: orNull(label)}))
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // as documented
	}
	return node, err
}

// ReportStaticPods records the static pods that were moved away; an empty text removes the record.
func (w *Writer) ReportStaticPods(ctx context.Context, text string) error {
	return w.annotate(ctx, "the static pods", staticpod.HostAnnotation, orNull(text), "status")
}

// AnnounceShutdown sets the condition, and announces the shutdown of the machine; an empty text withdraws the
// announcement.
func (w *Writer) AnnounceShutdown(ctx context.Context, text string, condition corev1.NodeCondition) error {
	label := ""
	if text != "" {
		label = "true"
	}
	patch := metadata(map[string]any{shutdown.Annotation: orNull(text)}, map[string]any{shutdown.Label: orNull(label)})
	patch["status"] = map[string]any{"conditions": whole(condition)}
	_, err := w.patch(ctx, "the shutdown", types.StrategicMergePatchType, patch, "status")
	return err
}

// ReportShutdownDelay records the maximum delay of a shutdown by logind.
func (w *Writer) ReportShutdownDelay(ctx context.Context, delay time.Duration) error {
	return w.annotate(ctx, "the delay of shutdowns", shutdown.DelayAnnotation, delay.String(), "status")
}

// RecordShutdownDrain records the outcome of the drain for a shutdown, unless another Node has the name by now.
func (w *Writer) RecordShutdownDrain(ctx context.Context, seen *corev1.Node, text string) error {
	_, err := w.patch(ctx, "the shutdown", types.MergePatchType, map[string]any{"metadata": map[string]any{
		"uid": seen.UID, "annotations": map[string]any{shutdown.DrainAnnotation: text},
	}})
	return stale(err)
}

// ForgetShutdown removes annotations about a shutdown, and with the announcement its label. If one of them has changed
// since the Node was seen, it is about another shutdown: then all stay.
func (w *Writer) ForgetShutdown(ctx context.Context, seen *corev1.Node, annotations []string) error {
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value string `json:"value,omitempty"`
	}
	var patch []operation
	for _, key := range annotations {
		path := "/metadata/annotations/" + strings.ReplaceAll(key, "/", "~1")
		patch = append(patch, operation{"test", path, seen.Annotations[key]}, operation{"remove", path, ""})
		if _, labelled := seen.Labels[shutdown.Label]; labelled && key == shutdown.Annotation {
			patch = append(patch, operation{"remove", "/metadata/labels/" + strings.ReplaceAll(shutdown.Label, "/", "~1"), ""})
		}
	}
	_, err := w.patch(ctx, "the shutdown", types.JSONPatchType, patch)
	return stale(err)
}

// stale adds [ErrStale] to the error of a patch whose precondition did not hold.
func stale(err error) error {
	if apierrors.IsConflict(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) {
		return fmt.Errorf("%w: %w", ErrStale, err)
	}
	return err
}
