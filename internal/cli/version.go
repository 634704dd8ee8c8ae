// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/client-go/discovery"

	"github.com/slipway-k8s/slipway/internal/home"
)

// versions are those of everything that is involved.
type versions struct {
	Client     string `json:"client"`
	Kubernetes string `json:"kubernetes,omitempty"`
	APIGroup   string `json:"apiGroup,omitempty"`
}

func newVersion(t *tool) *cobra.Command {
	var (
		output     *outputFlag
		clientOnly bool
	)
	command := &cobra.Command{
		Use:   "version",
		Short: "Say which versions of Slipway and Kubernetes are here and on the cluster",
		Long: `Says the version of this command and of the cluster's API server, and in which API group
LifecycleEvents live there.`,
		Example: `  kubectl slipway version
  kubectl slipway version --client -o json`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			v := versions{Client: clientVersion()}
			if !clientOnly {
				if err := t.addCluster(command, &v); err != nil {
					return err
				}
			}
			if output.format != people {
				return encode(t.Out, output.format, v)
			}
			return v.print(t.Out)
		},
	}
	output = addOutput(command.Flags(), jsonText, yamlText)
	command.Flags().BoolVar(&clientOnly, "client", false, "only of this command; do not ask a cluster")
	return command
}

// addCluster adds what the cluster says.
func (t *tool) addCluster(command *cobra.Command, v *versions) error {
	c, err := t.connect(command.Context())
	if err != nil && !errors.Is(err, home.ErrNotInstalled) {
		return err
	}
	v.APIGroup = c.home.Group()
	asker, err := discovery.NewDiscoveryClientForConfigAndClient(c.config, c.http)
	if err != nil {
		return fmt.Errorf("build a client: %w", err)
	}
	server, err := asker.ServerVersion()
	if err != nil {
		return fmt.Errorf("ask the API server for its version: %w", err)
	}
	v.Kubernetes = server.GitVersion
	return nil
}

func (v versions) print(out io.Writer) error {
	fmt.Fprintf(out, "Client:     %s\n", v.Client)
	if v.Kubernetes == "" {
		return nil
	}
	group := v.APIGroup
	if group == "" {
		group = "none: Slipway is not installed"
	}
	_, err := fmt.Fprintf(out, "Kubernetes: %s\nAPI group:  %s\n", v.Kubernetes, group)
	return err
}

// clientVersion is that of the module, if the binary was built from a released one.
func clientVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
