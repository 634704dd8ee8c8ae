// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/forecast"
	"github.com/slipway-k8s/slipway/internal/kubectl/survey"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// planRollout says what the maintenance would do that is there, or that a file asks for.
func (t *tool) planRollout(ctx context.Context, p *planFlags) error {
	c, reader, err := t.openMaintenances(ctx)
	if p.maintenance != "" {
		if err != nil {
			return err
		}
		m, err := getMaintenance(ctx, reader, p.maintenance)
		if err != nil {
			return err
		}
		return t.forecast(ctx, c, m, p.output.format)
	}
	if errors.Is(err, apigroup.ErrNotInstalled) {
		fmt.Fprintln(t.ErrOut, "Slipway is not on this cluster: this is what the maintenance would do if it were.")
		c.home = apigroup.In(lifecyclev1alpha1.GroupSlipway)
		return t.forecast(ctx, c, p.wanted, p.output.format)
	}
	if err != nil {
		return err
	}
	m, err := asApplied(ctx, reader, p.wanted)
	if err != nil {
		return err
	}
	return t.forecast(ctx, c, m, p.output.format)
}

// asApplied is what a file makes of the maintenance of that name, if there is one that may be
// read.
func asApplied(ctx context.Context, reader client.Reader, wanted *slipwayv1alpha1.NodeMaintenance) (*slipwayv1alpha1.NodeMaintenance, error) {
	there := &slipwayv1alpha1.NodeMaintenance{}
	err := reader.Get(ctx, client.ObjectKey{Name: wanted.Name}, there)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return wanted, nil
	case err != nil:
		return nil, fmt.Errorf("get NodeMaintenance %s: %w", wanted.Name, err)
	default:
		there.Spec = wanted.Spec
		return there, nil
	}
}

// checkPlan finds flags that do not go with --plan.
func (m *maintainFlags) checkPlan() error {
	switch {
	case *m.dry != dryRunNone:
		return usage("give --plan or --dry-run, not both: the one says what would happen, the other what would be asked for")
	case m.output.format == names:
		return usage("-o name does not go with --plan, which creates nothing")
	default:
		return nil
	}
}

// plan says what the maintenance would do that is wanted. One of its name must not be there.
func (p *maintaining) plan(ctx context.Context) error {
	err := p.client.Get(ctx, client.ObjectKey{Name: p.wanted.Name}, &slipwayv1alpha1.NodeMaintenance{})
	switch {
	case err == nil:
		return p.taken(ctx, p.wanted.Name)
	case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err):
		return fmt.Errorf("get NodeMaintenance %s: %w", p.wanted.Name, err)
	}
	return p.forecast(ctx, p.cluster, p.wanted, p.flags.output.format)
}

func (t *tool) forecast(ctx context.Context, c cluster, m *slipwayv1alpha1.NodeMaintenance, f format) error {
	reader, err := survey.New(c.config, c.http, c.home)
	if err != nil {
		return err
	}
	facts, err := reader.Fleet(ctx, t.clock.Now(), m)
	if err != nil {
		return err
	}
	result, err := forecast.Of(facts)
	if err != nil {
		return fmt.Errorf("predict: %w", err)
	}
	if len(result.Batches)+len(result.Left) == 0 {
		return fmt.Errorf("NodeMaintenance %s selects none of the %s of the cluster", m.Name, ui.Count(result.Unselected, "node", "nodes"))
	}
	return t.printForecasted(f, result)
}

// printForecasted gives exit code 5 if something would block.
func (t *tool) printForecasted(f format, result forecast.Forecast) error {
	var err error
	switch f {
	case people, wide:
		err = printForecast(t.Out, ui.StyleOf(t.Out, os.Getenv), result, f == wide)
	default:
		err = encode(t.Out, f, result)
	}
	if err == nil && result.Blocks() {
		return exit{code: Blocked}
	}
	return err
}
