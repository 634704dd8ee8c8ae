// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster/internal/build"
	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

func newStop(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "stop COMPONENT|NAMESPACE/POD --dir DIR",
		Short: "Stop one component, or the process of one pod; the rest continues",
		Long: fmt.Sprintf(`Stops one component and returns when it has ended, so that a test sees what the
others do without it. The components are %s. A name with a
slash is that of a pod: the process that 'localcluster pod' started for it.`, strings.Join(component.Names(), ", ")),
		Args:      cobra.ExactArgs(1),
		ValidArgs: component.Names(),
	}
	kill := command.Flags().Bool("kill", false, "kill it, as a crash would, instead of asking it to end")
	return on(streams, command, func(command *cobra.Command, opened *cluster.Cluster, args []string) error {
		if namespace, name, isPod := strings.Cut(args[0], "/"); isPod {
			return opened.StopPod(command.Context(), namespace, name, *kill)
		}
		return opened.Stop(command.Context(), args[0], *kill)
	})
}

func newStart(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:       "start COMPONENT --dir DIR",
		Short:     "Start one component again and return when it is healthy",
		Args:      cobra.ExactArgs(1),
		ValidArgs: component.Names(),
	}
	var (
		timeout        time.Duration
		version, cache string
	)
	addTimeout(command, &timeout)
	addCache(command, &cache)
	command.Flags().StringVar(&version, "kubernetes", "", "upgrade the component to this version of Kubernetes, such as v1.36.3")
	return on(streams, command, func(command *cobra.Command, opened *cluster.Cluster, args []string) error {
		return opened.Start(command.Context(), args[0], version, cache, timeout)
	})
}

func newKubeconfig(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "kubeconfig --dir DIR",
		Short: "Print the path of the administrator's kubeconfig",
		Args:  cobra.NoArgs,
	}
	return on(streams, command, func(command *cobra.Command, opened *cluster.Cluster, _ []string) error {
		facts, err := existing(command, opened)
		if err == nil {
			_, err = fmt.Fprintln(streams.Out, facts.Kubeconfig)
		}
		return err
	})
}

func newKubectl(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "kubectl --dir DIR -- ARGUMENTS",
		Short: "Run kubectl against a cluster, as its administrator",
	}
	return on(streams, command, func(command *cobra.Command, opened *cluster.Cluster, args []string) error {
		facts, err := existing(command, opened)
		if err != nil {
			return err
		}
		kubectl := exec.CommandContext(command.Context(), facts.Kubectl, args...)
		kubectl.Env = append(os.Environ(), "KUBECONFIG="+facts.Kubeconfig)
		kubectl.Stdin, kubectl.Stdout, kubectl.Stderr = streams.In, streams.Out, streams.Err
		return ofCommand(kubectl.Run())
	})
}

// existing returns the facts of a cluster that has to exist.
func existing(command *cobra.Command, opened *cluster.Cluster) (*cluster.Facts, error) {
	facts, err := opened.Status(command.Context())
	if err == nil && facts.State == cluster.Absent {
		err = fmt.Errorf("%s: %w", facts.Dir, state.ErrNone)
	}
	return facts, err
}

func newBuild(streams Streams) *cobra.Command {
	var cache, link, kubernetes string
	command := &cobra.Command{
		Use:   "build",
		Short: "Build the control plane now, so that 'up' finds it",
		Long: `Builds the control plane into the cache, unless it is there already, and prints
the directory of its programs. 'up' and 'run' do this by themselves. The first
build compiles Kubernetes, which takes minutes; the Go toolchain has to be
installed and to reach its module proxy.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			built, err := build.EnsureControlPlane(command.Context(), cache, kubernetes, progress.New(streams.Err))
			if err != nil {
				return err
			}
			if err := linkTo(built.Program("kubectl"), link); err != nil {
				return err
			}
			_, err = fmt.Fprintln(streams.Out, built.Binaries)
			return err
		},
	}
	addCache(command, &cache)
	addKubernetes(command, &kubernetes)
	command.Flags().StringVar(&link, "link-kubectl", "", "make a symbolic link to kubectl at this path, whose last element has to be kubectl")
	return command
}

var (
	errLinkName  = errors.New("the link has to be called kubectl, because the program reads its name")
	errLinkTaken = errors.New("the place of the link has another file")
)

// linkTo replaces a link at path, but no other file.
func linkTo(program, path string) error {
	if path == "" {
		return nil
	}
	if filepath.Base(path) != filepath.Base(program) {
		return fmt.Errorf("%s: %w", path, errLinkName)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode()&fs.ModeSymlink == 0 {
			return fmt.Errorf("%s: %w", path, errLinkTaken)
		}
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("replace the link: %w", err)
		}
	}
	if err := os.Symlink(program, path); err != nil {
		return fmt.Errorf("link kubectl: %w", err)
	}
	return nil
}
