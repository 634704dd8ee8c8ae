// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
)

// work is an object that agents or controller end while they run.
type work struct {
	// of is said after its name, such as " of node worker-1".
	of string
	// holders are the finalizers of others that the survey has shown.
	holders []string
	object  *unstructured.Unstructured
}

func (w work) String() string { return w.object.GetKind() + " " + w.object.GetName() }

// endWork ends the maintenances, then the events: those that there are once no maintenance
// creates any.
func (c *Cluster) endWork(ctx context.Context, left Remains, patience time.Duration, tell func(string)) error {
	var maintenances, events []work
	for _, m := range left.Maintenances {
		maintenances = append(maintenances, work{holders: m.Holders, object: m.object})
	}
	if err := c.endAll(ctx, maintenances, patience, tell); err != nil {
		return err
	}
	shown := map[types.UID]Event{}
	for _, e := range left.Events {
		shown[e.object.GetUID()] = e
	}
	now, err := c.surveyEvents(ctx)
	if err != nil {
		return err
	}
	for _, e := range now {
		events = append(events, work{of: " of node " + e.Node, holders: shown[e.object.GetUID()].Holders, object: e.object})
	}
	return c.endAll(ctx, events, patience, tell)
}

// endAll deletes objects, and waits until they are gone.
func (c *Cluster) endAll(ctx context.Context, all []work, patience time.Duration, tell func(string)) error {
	for _, w := range all {
		tell("deleting " + w.String() + w.of)
		if err := c.delete(ctx, w.object); err != nil {
			return err
		}
	}
	enough, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, w := range all {
		err := c.await(enough, w.object, gone)
		if err != nil && ctx.Err() == nil && enough.Err() != nil {
			err = c.abandon(ctx, w, tell)
		}
		if err != nil {
			return fmt.Errorf("wait until %s has ended: %w", w, err)
		}
	}
	return nil
}

// abandon takes our finalizers off an object that nobody ends, and those of others that the
// survey has shown: who agreed to the removal has seen them.
func (c *Cluster) abandon(ctx context.Context, w work, tell func(string)) error {
	live, err := c.get(ctx, w.object)
	if err != nil || live == nil {
		return err
	}
	if held := withoutOurs(live.GetFinalizers(), w.holders); len(held) > 0 {
		return fmt.Errorf("it is held by %s since: let it go, and call this command again", strings.Join(held, ", "))
	}
	tell("nobody ends " + w.String() + ": taking off its finalizers")
	patch := fmt.Sprintf(`{"metadata":{"finalizers":null,"resourceVersion":%q}}`, live.GetResourceVersion())
	_, err = c.resource(live).Patch(ctx, live.GetName(), types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if apierrors.IsConflict(err) { // it has changed: look again
		return c.abandon(ctx, w, tell)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("take the finalizers off %s: %w", release.RefOf(live), err)
	}
	return c.await(ctx, live, gone)
}
