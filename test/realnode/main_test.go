// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/harness"
)

const (
	nodeName = "real-1"
	// group is what the pods of these tests select their node by.
	group         = "real"
	workloadImage = "local.test/workload:1"
	agentImage    = "local.test/node-agent:1"
	hostImage     = "local.test/slipway-host:1"
	driverImage   = "local.test/drain-driver:1"
)

func TestMain(m *testing.M) { harness.MainOn(m, harness.Options{Bare: true}) }

// machine is this machine, as a node of the shared cluster. The first test makes it one;
// it is none any more when the cluster goes.
var machine struct {
	once sync.Once
	err  error
	node nodeFacts
}

// nodeFacts is what the launcher says of the node.
type nodeFacts struct {
	Address   string `json:"address"`
	Socket    string `json:"socket"`
	Manifests string `json:"manifests"`
}

// launcher runs localcluster and returns what it printed.
func launcher(arguments ...string) ([]byte, error) {
	path, err := devcluster.FindLauncher()
	if err != nil {
		return nil, err
	}
	var out, trouble bytes.Buffer
	command := exec.Command(path, arguments...)
	command.Stdout, command.Stderr = &out, &trouble
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("localcluster %s: %w: %s", arguments[0], err, bytes.TrimSpace(trouble.Bytes()))
	}
	return out.Bytes(), nil
}

// realNode is the cluster with this machine in it, and what runs there of Slipway.
func realNode(t *testing.T) (*harness.Env, nodeFacts) {
	t.Helper()
	if _, err := launcher("node", "check"); err != nil {
		t.Skipf("missing: %v", err)
	}
	env := harness.Shared(t)
	machine.once.Do(func() { machine.err = errors.Join(env.Install(t.Context(), env.Group), join(env.Facts.Dir)) })
	if machine.err != nil {
		t.Fatal(machine.err)
	}
	return env, machine.node
}

// join makes this machine a node that has the images.
func join(dir string) error {
	out, err := launcher("node", "add", nodeName, "--dir", dir, "-o", "json")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, &machine.node); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	programs, err := os.MkdirTemp("", "slipway-image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(programs) }()
	for image, source := range map[string]string{
		workloadImage: "./test/realnode/workload", agentImage: "./cmd/node-agent", hostImage: "./cmd/slipway-host",
		driverImage: "./cmd/drain-driver",
	} {
		program := filepath.Join(programs, filepath.Base(source))
		if err := compile(source, program); err != nil {
			return err
		}
		if err := loadImage(program, image, dir); err != nil {
			return err
		}
	}
	return nil
}

// loadImage gives the node an image of a program.
func loadImage(program, image, dir string) error {
	_, err := launcher("node", "load", nodeName, "--program", program, "--name", image, "--dir", dir)
	return err
}

// compile builds a program that needs no file beside it.
func compile(source, to string) error {
	root, err := devcluster.Root()
	if err != nil {
		return err
	}
	// Linked so, and not compiled without cgo: of what is compiled for other tests already,
	// all can be used. The tag is for fault points, which nothing but a test's environment reaches.
	command := exec.Command("go", "build", "-tags=faultpoints", "-ldflags=-linkmode=external -extldflags=-static", "-o", to, source)
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", source, err, out)
	}
	return nil
}
