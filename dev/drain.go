// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// action is what a LifecycleEvent requests.
type action struct {
	verb   string // also the beginning of the event's name
	target string // of make
	sample string
}

// sampleNode is the node in the manifests in config/samples.
const sampleNode = "worker-1"

var (
	drain    = action{verb: "drain", target: "drain", sample: "drain-worker-1.yaml"}
	giveBack = action{verb: "uncordon", target: "maintenance-complete", sample: "uncordon-worker-1.yaml"}
)

// event is the name of the event for a node.
func (a action) event(node string) string { return a.verb + "-" + node }

// manifest is the event for a node: the sample, with the node's name in it.
func (a action) manifest(here place, node string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(here.root, here.sample(a.sample)))
	if err != nil {
		return nil, err
	}
	return []byte(strings.ReplaceAll(string(text), sampleNode, node)), nil
}

func newDrain(local where) *cobra.Command {
	return &cobra.Command{
		Use:   "drain NODE",
		Short: "Drain a node of the local cluster, and follow it to the end",
		Long: `Applies a LifecycleEvent for the node and shows what becomes of it: who claims it,
which pods leave, what holds them up. It succeeds when the event has. Ctrl-C stops
following, not the drain.`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error { return drain.do(command, local, args[0]) },
	}
}

func newMaintenanceComplete(local where) *cobra.Command {
	return &cobra.Command{
		Use:   "maintenance-complete NODE",
		Short: "Return a node of the local cluster from maintenance",
		Args:  cobra.ExactArgs(1),
		RunE:  func(command *cobra.Command, args []string) error { return giveBack.do(command, local, args[0]) },
	}
}

// do applies the event on the cluster of `dev up` and follows it.
func (a action) do(command *cobra.Command, local where, node string) error {
	here, err := local()
	if err != nil {
		return err
	}
	config, err := clientcmd.BuildConfigFromFlags("", here.kubeconfig())
	if err != nil {
		return fmt.Errorf("there is no local cluster; 'make up' starts one: %w", err)
	}
	manifest, err := a.manifest(here, node)
	if err != nil {
		return err
	}
	k := kubectl{path: here.kubectl(), kubeconfig: here.kubeconfig(), dir: here.root}
	applied := false
	if err := checkNode(command.Context(), config, node); err != nil {
		return err
	}
	told, err := a.follow(command.Context(), config, command.OutOrStdout(), node, func(ctx context.Context) error {
		_, err := k.run(ctx, manifest, "apply", "-f", "-")
		applied = err == nil
		return err
	})
	if errors.Is(err, context.Canceled) && applied {
		a.sayLeft(command.ErrOrStderr(), here, node)
	}
	if err != nil {
		return err
	}
	return a.verdict(outcome(told).Phase, node)
}

// follow has the event applied, and shows what becomes of it.
func (a action) follow(ctx context.Context, config *rest.Config, out io.Writer, node string, apply func(context.Context) error) (*progress.Model, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	found, err := apigroup.Find(ctx, config, httpClient)
	if err != nil {
		return nil, err
	}
	cluster := follow.Cluster{Config: config, HTTP: httpClient, Home: found}
	asked := progress.Asked{Node: node, Event: a.event(node)}
	return follow.New(cluster, screenOn(out), clock.RealClock{}, asked).Follow(ctx, apply)
}

func screenOn(out io.Writer) follow.Screen {
	style := func() ui.Style { return ui.StyleOf(out, os.Getenv) }
	if style().Terminal {
		return &follow.Terminal{Out: out, Style: style}
	}
	return &follow.Lines{Out: out}
}

// outcome is how the only event has ended.
func outcome(told *progress.Model) progress.Outcome { return told.All()[0].Outcome() }

// verdict is an error unless the event has succeeded.
func (a action) verdict(phase lifecyclev1alpha1.ClaimStatus, node string) error {
	if phase == lifecyclev1alpha1.Succeeded {
		return nil
	}
	return fmt.Errorf("LifecycleEvent %s ended as %s; 'bin/kubectl describe node %s' has more, and 'make %s NODE=%s' tries again",
		a.event(node), phase, node, a.target, node)
}

// sayLeft tells somebody who has stopped following that the event goes on.
func (a action) sayLeft(out io.Writer, here place, node string) {
	fmt.Fprintf(out, `
Stopped following. LifecycleEvent %[1]s goes on.
  make %[2]s NODE=%[3]s   follows it again
  bin/kubectl --kubeconfig %[4]s delete lifecycleevent %[1]s   cancels it
`, a.event(node), a.target, node, here.kubeconfig())
}
