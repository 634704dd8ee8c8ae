// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/image"
)

var errNoImage = errors.New("there is no image for this machine in it")

// LoadPause gives the node the image that every pod needs.
func (n Node) LoadPause(ctx context.Context, program string) error {
	_, err := n.LoadProgram(ctx, program, pauseImage)
	return err
}

// LoadProgram loads an image of one static program, whose entrypoint it is.
func (n Node) LoadProgram(ctx context.Context, program, name string) ([]string, error) {
	var archive bytes.Buffer
	if err := image.WriteProgram(&archive, program, name); err != nil {
		return nil, err
	}
	return n.load(ctx, &archive, "")
}

// Load loads the images of an archive, or of a directory with an OCI layout. Those
// that have no name in it get this one; it may be empty.
func (n Node) Load(ctx context.Context, path, name string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("find the image: %w", err)
	}
	if !info.IsDir() {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("open the image: %w", err)
		}
		defer func() { _ = file.Close() }()
		return n.load(ctx, file, name)
	}
	reading, writing := io.Pipe()
	go func() { writing.CloseWithError(archiveOf(path, writing)) }()
	defer func() { _ = reading.Close() }() // ends the writer, should containerd refuse
	return n.load(ctx, reading, name)
}

func archiveOf(dir string, out io.Writer) error {
	archive := tar.NewWriter(out)
	if err := archive.AddFS(os.DirFS(dir)); err != nil {
		return fmt.Errorf("read the image: %w", err)
	}
	return archive.Close()
}

// load returns the names of the images when the kubelet can use them.
func (n Node) load(ctx context.Context, archive io.Reader, name string) ([]string, error) {
	args := []string{"images", "import", "--snapshotter=" + snapshotter}
	if name != "" {
		args = append(args, "--index-name="+name)
	}
	output, err := n.ctr(ctx, archive, append(args, "-")...)
	if err != nil {
		return nil, err
	}
	names := loaded(output)
	if len(names) == 0 {
		return nil, errNoImage
	}
	return names, n.awaitKnown(ctx, names)
}

// loaded reads from what ctr says which images it has unpacked:
// "unpacking NAME (DIGEST)...done".
func loaded(output string) []string {
	var names []string
	for line := range strings.Lines(output) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "unpacking" {
			names = append(names, fields[1])
		}
	}
	return names
}

// awaitKnown returns when the part of containerd that the kubelet speaks to has seen the
// images. It marks them, a moment after they have come.
func (n Node) awaitKnown(ctx context.Context, names []string) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		output, err := n.ctr(ctx, nil, "images", "list", "--quiet", `labels."io.cri-containerd.image"==managed`)
		if err != nil {
			return err
		}
		known := strings.Fields(output)
		if !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(known, name) }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("containerd does not show %s to the kubelet: %w", strings.Join(names, ", "), context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// ctr runs containerd's own client on the kubelet's namespace.
func (n Node) ctr(ctx context.Context, input io.Reader, args ...string) (string, error) {
	command := exec.CommandContext(ctx, "ctr", append([]string{"--address=" + n.Socket(), "--namespace=k8s.io"}, args...)...)
	var output, complaints bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = input, &output, &complaints
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("ctr %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(complaints.String()))
	}
	return output.String(), nil
}
