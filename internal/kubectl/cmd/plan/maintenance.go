// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/forecast"
	"github.com/slipway-k8s/slipway/internal/kubectl/survey"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/slipwayclient"
)

// planMaintenance predicts an existing maintenance, or a maintenance in a file.
func planMaintenance(ctx context.Context, t *cli.Tool, p *planFlags) error {
	c, reader, err := t.Open(ctx)
	if p.maintenance != "" {
		if err != nil {
			return err
		}
		m, err := cli.GetMaintenance(ctx, reader, p.maintenance)
		if err != nil {
			return err
		}
		return Forecast(ctx, t, c, m, p.output)
	}
	if errors.Is(err, slipwayclient.ErrNotInstalled) {
		t.Notef("Slipway is not on this cluster: this is what the maintenance would do if it were.")
		c.Home = apigroup.In(lifecyclev1alpha1.GroupSlipway)
		return Forecast(ctx, t, c, p.wanted, p.output)
	}
	if err != nil {
		return err
	}
	m, err := asApplied(ctx, reader, p.wanted)
	if err != nil {
		return err
	}
	return Forecast(ctx, t, c, m, p.output)
}

// asApplied returns the existing maintenance of that name with the spec of the file, if the
// caller may read it.
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

// Forecast predicts a maintenance, and prints that.
func Forecast(ctx context.Context, t *cli.Tool, c cli.Cluster, m *slipwayv1alpha1.NodeMaintenance, f *cli.Output) error {
	reader, err := c.Client()
	if err != nil {
		return err
	}
	facts, err := survey.Reader{Client: reader}.Fleet(ctx, t.Clock.Now(), m)
	if err != nil {
		return err
	}
	result, err := forecast.Predict(facts)
	if err != nil {
		return fmt.Errorf("predict: %w", err)
	}
	if len(result.Batches)+len(result.Left) == 0 {
		return fmt.Errorf("NodeMaintenance %s selects none of the %s of the cluster", m.Name, ui.Count(result.Unselected, "node", "nodes"))
	}
	return showForecast(t, f, m.Name, result)
}

func showForecast(t *cli.Tool, o *cli.Output, m string, f forecast.Forecast) error {
	return showPlan(t, o, cli.View{Value: f, Names: []string{cli.MaintenanceName(m)}, Text: func(style ui.Style, wide bool) string { return forecastText(style, f, wide) }}, f.Blocks())
}
