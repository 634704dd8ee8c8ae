// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-k8s/slipway/internal/kubectl/install/installer"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// versions are those of everything that is involved.
type versions struct {
	Client     string `json:"client"`
	Kubernetes string `json:"kubernetes,omitempty"`
	// APIGroup is where LifecycleEvents are served; empty where they are not.
	APIGroup string `json:"apiGroup,omitempty"`
	// Installed are the installations: one, if all is well.
	Installed []release.Installed `json:"installed,omitempty"`
	// Unread is what the caller may not read.
	Unread []string `json:"unread,omitempty"`
}

func newVersion(t *tool) *cobra.Command {
	var (
		output     *outputFlag
		clientOnly bool
	)
	command := &cobra.Command{
		Use:   "version",
		Short: "Say which versions of Slipway and Kubernetes are here and on the cluster",
		Long: `Says the version of this command, of the cluster's API server and of Slipway there, in
which API group LifecycleEvents live, and who claims them: the agents on the nodes, or the
controller. What may not be read is said.`,
		Example: `  kubectl slipway version
  kubectl slipway version --client -o json`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			v := versions{Client: clientVersion()}
			var err error
			if !clientOnly {
				err = t.addCluster(command.Context(), &v)
			}
			// What is known is said, whatever the cluster does.
			if output.format != people {
				return errors.Join(encode(t.Out, output.format, v), err)
			}
			return errors.Join(v.print(t.Out, ui.StyleOf(t.Out, os.Getenv)), err)
		},
	}
	output = addOutput(command.Flags(), jsonText, yamlText)
	command.Flags().BoolVar(&clientOnly, "client", false, "only of this command; do not ask a cluster")
	return command
}

// addCluster adds what the cluster says.
func (t *tool) addCluster(ctx context.Context, v *versions) error {
	c, err := t.connect(ctx)
	switch {
	case apierrors.IsForbidden(err):
		v.Unread = append(v.Unread, err.Error())
	case err != nil && !errors.Is(err, apigroup.ErrNotInstalled):
		return err
	}
	v.APIGroup = c.home.Group()
	on, err := installer.New(c.config, c.http)
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

func (v versions) print(out io.Writer, style ui.Style) error {
	rows := [][]ui.Cell{{{Text: "Client:"}, {Text: v.Client}}}
	add := func(name, text string, tone ui.Tone) {
		rows = append(rows, []ui.Cell{{Text: name}, {Text: text, Tone: tone}})
	}
	if v.Kubernetes != "" {
		add("Kubernetes:", v.Kubernetes, ui.Plain)
		if v.APIGroup != "" {
			add("API group:", v.APIGroup, ui.Plain)
		} else if len(v.Unread) == 0 {
			add("API group:", "none: no LifecycleEvents are served here; 'kubectl slipway install' helps", ui.Warn)
		}
	}
	if v.APIGroup != "" && len(v.Installed) == 0 && len(v.Unread) == 0 {
		add("Slipway:", "none: the kinds are here, and nobody works on events; 'kubectl slipway install' helps", ui.Warn)
	}
	for _, i := range v.Installed {
		add("Slipway:", i.Image+" in namespace "+i.Namespace, ui.Plain)
		if i.AgentImage != "" {
			add("", "the agents have another image: "+i.AgentImage, ui.Warn)
		}
		add("Claim mode:", claimMode(i), ui.Plain)
	}
	for _, what := range v.Unread {
		add("Not read:", what, ui.Warn)
	}
	return style.Rows(out, rows)
}

// claimMode is for people.
func claimMode(i release.Installed) string {
	switch {
	case i.Mode == release.Central:
		return "central: the controller works for all nodes"
	case i.Reduced:
		return "node: an agent on each node works, with the reduced variant's rights"
	default:
		return "node: an agent on each node works"
	}
}

// clientVersion is that of the module, if the binary was built from a released one.
func clientVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
