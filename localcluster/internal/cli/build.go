// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/build"
)

func newBuild(streams Streams) *cobra.Command {
	var cache, output, link string
	command := &cobra.Command{
		Use:   "build",
		Short: "Build the control plane now, so that 'up' finds it",
		Long: `Builds the control plane into the cache, unless it is there already, and prints
the directory of its programs. 'up' and 'run' do this by themselves. The first
build compiles Kubernetes, which takes minutes; the Go toolchain has to be
installed and to reach its module proxy.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			dir, err := cacheDir(cache)
			if err != nil {
				return err
			}
			built, err := build.Ensure(command.Context(), dir, localcluster.ControlPlane, reporter(false, streams))
			if err != nil {
				return err
			}
			if err := linkTo(built.Kubectl, link); err != nil {
				return err
			}
			return printAs(streams.Out, output, built, func(out io.Writer) { _, _ = fmt.Fprintln(out, built.Binaries) })
		},
	}
	addCache(command, &cache)
	addFormat(command, &output)
	command.Flags().StringVar(&link, "link-kubectl", "", "make a symbolic link to kubectl at this path, whose last element has to be kubectl")
	return command
}

var (
	errLinkName  = errors.New("the link has to be called kubectl: by its name, the program knows what it is")
	errLinkTaken = errors.New("there is something else in the place of the link")
)

// linkTo replaces a link at path, but nothing else.
func linkTo(program, path string) error {
	if path == "" {
		return nil
	}
	if filepath.Base(path) != filepath.Base(program) {
		return fmt.Errorf("%s: %w", path, errLinkName)
	}
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink == 0 {
		return fmt.Errorf("%s: %w", path, errLinkTaken)
	}
	if err == nil {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("replace the link: %w", err)
		}
	}
	if err := os.Symlink(program, path); err != nil {
		return fmt.Errorf("link kubectl: %w", err)
	}
	return nil
}
