// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
)

// errNoMaintenances is that Slipway is there, and knows no NodeMaintenances.
var errNoMaintenances = errors.New("this cluster does not serve NodeMaintenances (slipway.dev/v1alpha1): " +
	"'kubectl slipway install' brings what is there of Slipway up to date")

// openMaintenances is [tool.open], with a client that knows NodeMaintenances. What the
// server warns of goes to stderr.
func (t *tool) openMaintenances(ctx context.Context) (cluster, client.WithWatch, error) {
	c, err := t.connect(ctx)
	if err != nil {
		return c, nil, err
	}
	scheme, mapper, err := follow.Kinds(c.home)
	if err != nil {
		return c, nil, err
	}
	config := rest.CopyConfig(c.config)
	config.WarningHandler = rest.NewWarningWriter(t.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	built, err := client.NewWithWatch(config, client.Options{HTTPClient: c.http, Scheme: scheme, Mapper: mapper})
	if err != nil {
		return c, nil, fmt.Errorf("build a client: %w", err)
	}
	return c, built, nil
}

// maintenanceName is a maintenance as kubectl names it.
func maintenanceName(name string) string { return "nodemaintenance.slipway.dev/" + name }

// cutMaintenance reads an argument: night, or nodemaintenance/night.
func cutMaintenance(arg string) (string, error) {
	kind, name, found := strings.Cut(arg, "/")
	if !found {
		kind, name = "nm", arg
	}
	kinds := []string{"nm", "nodemaintenance", "nodemaintenances", "nodemaintenance.slipway.dev", "nodemaintenances.slipway.dev"}
	if !slices.Contains(kinds, kind) || name == "" {
		return "", usage("%q is no NodeMaintenance: give its name; 'kubectl slipway maintenance status' lists them", arg)
	}
	return name, nil
}

// maintenanceTrouble is an error of a request about the kind itself, as people are told it.
func maintenanceTrouble(doing string, err error) error {
	if apierrors.IsNotFound(err) {
		return errNoMaintenances
	}
	return fmt.Errorf("%s: %w", doing, err)
}

func noSuchMaintenance(name string) error {
	return fmt.Errorf("there is no NodeMaintenance %q; 'kubectl slipway maintenance status' lists them", name)
}

func listMaintenances(ctx context.Context, reader client.Reader) ([]*slipwayv1alpha1.NodeMaintenance, error) {
	var all slipwayv1alpha1.NodeMaintenanceList
	if err := reader.List(ctx, &all); err != nil {
		return nil, maintenanceTrouble("list NodeMaintenances", err)
	}
	return pointers(all.Items), nil
}

// getMaintenance reads one. That it is not there is told apart from a kind that is not.
func getMaintenance(ctx context.Context, reader client.Reader, name string) (*slipwayv1alpha1.NodeMaintenance, error) {
	var m slipwayv1alpha1.NodeMaintenance
	err := reader.Get(ctx, client.ObjectKey{Name: name}, &m)
	switch {
	case apierrors.IsNotFound(err):
		if _, err := listMaintenances(ctx, reader); errors.Is(err, errNoMaintenances) {
			return nil, err
		}
		return nil, noSuchMaintenance(name)
	case err != nil:
		return nil, fmt.Errorf("get NodeMaintenance %s: %w", name, err)
	default:
		return &m, nil
	}
}

// completeMaintenance suggests the names of maintenances, for a first argument.
func (t *tool) completeMaintenance(command *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) == 0 {
		for _, m := range t.knownMaintenances(command) {
			if strings.HasPrefix(m.Name, begun) {
				names = append(names, m.Name)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// knownMaintenances are those that can be read soon.
func (t *tool) knownMaintenances(command *cobra.Command) []*slipwayv1alpha1.NodeMaintenance {
	const patience = 3 * time.Second
	ctx, cancel := context.WithTimeout(command.Context(), patience)
	defer cancel()
	var all []*slipwayv1alpha1.NodeMaintenance
	if _, reader, err := t.openMaintenances(ctx); err == nil {
		all, _ = listMaintenances(ctx, reader) // without any, nothing is suggested
	}
	return all
}
