// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/featuregate"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slipway-k8s/slipway/internal/platform/identity"
)

// Main runs a command until it returns or a signal ends it, and returns the exit
// code of the process: 0 if only the signal has ended it. A second signal ends the process at once.
func Main(command *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	command.SilenceUsage, command.SilenceErrors = true, true
	if err := command.ExecuteContext(ctx); err != nil && (ctx.Err() == nil || !errors.Is(err, context.Canceled)) {
		fmt.Fprintf(os.Stderr, "%s: %v\n", command.Name(), err)
		return 1
	}
	return 0
}

// Logging adds the standard logging flags of Kubernetes to a command, and applies
// them before it runs.
func Logging(command *cobra.Command) {
	config := logsapi.NewLoggingConfiguration()
	gate := featuregate.NewFeatureGate()
	utilruntime.Must(logsapi.AddFeatureGates(gate))
	logsapi.AddFlags(config, command.PersistentFlags())
	command.PersistentPreRunE = func(command *cobra.Command, _ []string) error {
		logs.InitLogs()
		if err := logsapi.ValidateAndApply(config, gate); err != nil {
			return err
		}
		ctrl.SetLogger(klog.Background())
		command.SetContext(klog.NewContext(command.Context(), klog.Background()))
		return nil
	}
}

// Client are the flags for the API server.
type Client struct {
	Kubeconfig string
	QPS        float32
	Burst      int
}

// AddFlags adds the flags, with the current values as defaults.
func (c *Client) AddFlags(flags *pflag.FlagSet) {
	if c.QPS == 0 {
		c.QPS, c.Burst = 50, 100
	}
	flags.StringVar(&c.Kubeconfig, "kubeconfig", "",
		"kubeconfig for use outside of the cluster (default: $KUBECONFIG, otherwise the credentials of the pod)")
	flags.Float32Var(&c.QPS, "kube-api-qps", c.QPS, "requests per second to the API server, on average")
	flags.IntVar(&c.Burst, "kube-api-burst", c.Burst, "requests to the API server at once")
}

// Config loads the credentials.
func (c *Client) Config() (*rest.Config, error) {
	if c.QPS <= 0 || c.Burst <= 0 {
		return nil, fmt.Errorf("--kube-api-qps %v and --kube-api-burst %d must be greater than 0", c.QPS, c.Burst)
	}
	return identity.Self(c.Kubeconfig, c.QPS, c.Burst)
}
