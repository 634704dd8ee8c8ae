// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/installer"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/slipwayclient"
)

// versions are the versions of everything that is involved.
type versions struct {
	Client     string `json:"client"`
	Kubernetes string `json:"kubernetes,omitempty"`
	// APIGroup serves LifecycleEvents. It is empty without Slipway.
	APIGroup string `json:"apiGroup,omitempty"`
	// Installed are the installations. There should be one.
	Installed []release.Installed `json:"installed,omitempty"`
	// Unread lists the facts that the caller may not read.
	Unread []string `json:"unread,omitempty"`
}

func newVersion(t *cli.Tool) *cobra.Command {
	var (
		output     *cli.Output
		clientOnly bool
	)
	command := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of Slipway and Kubernetes, here and on the cluster",
		Long: `Shows the version of this command, of the cluster's API server and of Slipway there; the API group
of LifecycleEvents; and the processes that claim them: the agents on the nodes, or the controller.`,
		Example: `  kubectl slipway version
  kubectl slipway version --client -o json`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			v := versions{Client: clientVersion()}
			var err error
			if !clientOnly {
				err = addCluster(command.Context(), t, &v)
			}
			// It prints the known versions, even if the cluster does not answer.
			return errors.Join(t.Print(output, cli.View{Value: v, Names: v.names(), Text: v.text}), err)
		},
	}
	output = cli.AddShow(command.Flags())
	command.Flags().BoolVar(&clientOnly, "client", false, "only the version of this command; do not ask a cluster")
	return command
}

// addCluster adds the versions on the cluster.
func addCluster(ctx context.Context, t *cli.Tool, v *versions) error {
	c, err := t.Connect(ctx)
	switch {
	case apierrors.IsForbidden(err):
		v.Unread = append(v.Unread, err.Error())
	case err != nil && !errors.Is(err, slipwayclient.ErrNotInstalled):
		return err
	}
	v.APIGroup = c.Home.Group()
	on, err := installer.New(c.Config, c.HTTP)
	if err != nil {
		return err
	}
	server, err := on.Server()
	if err != nil {
		return err
	}
	v.Kubernetes = server.Version
	v.Installed, err = on.Installed(ctx)
	if apierrors.IsForbidden(err) {
		v.Unread, err = append(v.Unread, err.Error()), nil
	}
	return err
}

// names names the installations.
func (v versions) names() (names []string) {
	for _, i := range v.Installed {
		names = append(names, "namespace/"+i.Namespace)
	}
	return names
}

func (v versions) text(style ui.Style, _ bool) string {
	rows := [][]ui.Cell{{{Text: "Client:"}, {Text: v.Client}}}
	add := func(name, text string, tone ui.Tone) {
		if text != "" {
			rows = append(rows, []ui.Cell{{Text: name}, {Text: text, Tone: tone}})
		}
	}
	add("Kubernetes:", v.Kubernetes, ui.Plain)
	add("API group:", v.APIGroup, ui.Plain)
	switch {
	case v.Kubernetes == "" || len(v.Unread) > 0:
	case v.APIGroup == "":
		add("API group:", "none: this cluster serves no LifecycleEvents; 'kubectl slipway install' adds them", ui.Warn)
	case len(v.Installed) == 0:
		add("Slipway:", "none: no installation works on LifecycleEvents; 'kubectl slipway install' adds one", ui.Warn)
	}
	for _, i := range v.Installed {
		add("Slipway:", i.Image+" in namespace "+i.Namespace, ui.Plain)
		if i.AgentImage != "" {
			add("", "the agents have another image: "+i.AgentImage, ui.Warn)
		}
		add("Drains:", drainMode(i), ui.Plain)
	}
	for _, what := range v.Unread {
		add("Not read:", what, ui.Warn)
	}
	return style.Columns(rows)
}

// drainMode describes where the drain driver runs.
func drainMode(i release.Installed) string {
	switch {
	case i.Mode == release.Central:
		return "central: the controller works for all nodes"
	case i.Reduced:
		return "node: an agent on each node works, with the reduced variant's permissions"
	default:
		return "node: an agent on each node works"
	}
}

// released is the version of a release: images/release.sh sets it.
var released string

// clientVersion is the version of the release, or of the module if the binary was built from a released one.
func clientVersion() string {
	if released != "" {
		return released
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
