// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
)

var errNoImage = errors.New("it contains no image for this machine")

// LoadPause gives the node the image that every pod needs.
func (n Node) LoadPause(ctx context.Context, program string) error {
	_, err := n.LoadProgram(ctx, program, pauseImage)
	return err
}

// LoadProgram loads an image of one static program, which is its entrypoint.
func (n Node) LoadProgram(ctx context.Context, program, name string) ([]string, error) {
	var archive bytes.Buffer
	if err := writeImage(&archive, program, name); err != nil {
		return nil, fmt.Errorf("make image %s of a program: %w", name, err)
	}
	return n.load(ctx, &archive, "")
}

// writeImage writes the image of the static program in file, as `docker save` does. In the
// image, the program is in the root and has the name of the file; there is a directory for
// temporary files. The same program gives the same bytes.
func writeImage(out io.Writer, file, name string) error {
	program, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	base := filepath.Base(file)
	var layer bytes.Buffer
	if err := writeTar(&layer, tarFile{"tmp/", 0o1777, nil}, tarFile{base, 0o755, program}); err != nil {
		return err
	}
	sum := sha256.Sum256(layer.Bytes())
	const layerName, configName = "layer.tar", "config.json"
	return writeTar(out,
		tarFile{configName, 0o644, encode(object{
			"architecture": runtime.GOARCH, "os": "linux", "config": object{"Entrypoint": []string{"/" + base}},
			"rootfs": object{"type": "layers", "diff_ids": []string{"sha256:" + hex.EncodeToString(sum[:])}},
		})},
		tarFile{layerName, 0o644, layer.Bytes()},
		tarFile{"manifest.json", 0o644, encode([]object{{
			"Config": configName, "RepoTags": []string{name}, "Layers": []string{layerName},
		}})},
	)
}

// tarFile is a file, or a directory if its name ends with a slash.
type tarFile struct {
	name    string
	mode    int64
	content []byte
}

func writeTar(out io.Writer, contents ...tarFile) error {
	archive := tar.NewWriter(out)
	for _, file := range contents {
		if err := archive.WriteHeader(&tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.content))}); err != nil {
			return err
		}
		if _, err := archive.Write(file.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// Load loads the images of an archive, or of a directory with an OCI layout. An image without a
// name gets this one; it may be empty.
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
	go func() {
		archive := tar.NewWriter(writing)
		err := archive.AddFS(os.DirFS(path))
		if err == nil {
			err = archive.Close()
		}
		writing.CloseWithError(err)
	}()
	defer func() { _ = reading.Close() }() // ends the writer if containerd refuses
	return n.load(ctx, reading, name)
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

// loaded reads from the output of ctr which images it has unpacked:
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

// awaitKnown returns when the CRI plugin of containerd, which serves the kubelet, has seen the
// images. It labels them a moment after they have come.
func (n Node) awaitKnown(ctx context.Context, names []string) error {
	var report *progress.Reporter
	return report.Await(ctx, 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		output, err := n.ctr(ctx, nil, "images", "list", "--quiet", `labels."io.cri-containerd.image"==managed`)
		if err != nil {
			return true, err
		}
		known := strings.Fields(output)
		if slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(known, name) }) {
			return false, fmt.Errorf("containerd does not show %s to the kubelet", strings.Join(names, ", "))
		}
		return true, nil
	})
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
