// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/bench/internal/controller"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/auditcheck"
)

// Group is where Slipway's API is at home on the stage.
const Group = lifecyclev1alpha1.GroupKubernetes

//go:embed delete.yaml
var deleteStage string

// Settings are the arguments of the control plane, the same for all contenders: no
// client of its own is to hold it back.
func Settings() map[string][]string {
	return map[string][]string{
		"controller-manager": {"kube-api-qps=500", "kube-api-burst=1000"},
		"scheduler":          {"kube-api-qps=500", "kube-api-burst=1000"},
	}
}

// Stage is a cluster.
type Stage struct {
	*devcluster.Cluster
	// Dir is for files of the benchmark.
	Dir string

	clients    kubernetes.Interface
	controller *controller.Process // nil: there is none
}

// Options of a stage.
type Options struct {
	Nodes int
	// Evictions: EvictionRequests are served.
	Evictions bool
	// Stderr gets what the launcher reports.
	Stderr io.Writer
}

// Open starts a cluster with Slipway's kinds and rights on it. It goes with this
// process, or with Close.
func Open(ctx context.Context, options Options) (*Stage, error) {
	dir, err := os.MkdirTemp("", "slipway-bench-")
	if err != nil {
		return nil, err
	}
	s := &Stage{Dir: dir}
	if err := s.open(ctx, options); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Stage) open(ctx context.Context, options Options) error {
	arguments := []string{"--quiet", "--node-capacity=cpu=256,memory=1Ti,ephemeral-storage=1Ti,pods=700"}
	for component, values := range Settings() {
		for _, value := range values {
			arguments = append(arguments, "--"+component+"-arg="+value)
		}
	}
	for name, text := range map[string]string{"audit-policy": auditcheck.Policy, "kwok-arg": deleteStage} {
		path := filepath.Join(s.Dir, name+".yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
		if name == "kwok-arg" {
			path = "config=" + path
		}
		arguments = append(arguments, "--"+name+"="+path)
	}
	var err error
	s.Cluster, err = devcluster.Run(ctx, devcluster.Options{
		Dir: filepath.Join(s.Dir, "cluster"), Nodes: options.Nodes, Args: arguments, Stderr: options.Stderr,
	})
	if err != nil {
		return err
	}
	if err := s.Install(ctx, Group); err != nil {
		return err
	}
	if options.Evictions {
		if err := s.InstallEvictions(ctx); err != nil {
			return err
		}
	}
	s.clients, err = s.Clients("slipway-bench")
	return err
}

// Close takes the cluster down and removes its files.
func (s *Stage) Close() error {
	var errs []error
	if s.controller != nil {
		errs = append(errs, s.controller.Kill())
	}
	if s.Cluster != nil {
		errs = append(errs, s.Cluster.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(s.Dir))...)
}

// Config are the administrator's credentials, without a limit on requests, for a
// program that gives its name.
func (s *Stage) Config(userAgent string) *rest.Config {
	config := rest.CopyConfig(s.Admin)
	config.UserAgent, config.QPS = userAgent, -1
	return config
}

// Clients are those of the administrator, as with Config.
func (s *Stage) Clients(userAgent string) (kubernetes.Interface, error) {
	clients, err := kubernetes.NewForConfig(s.Config(userAgent))
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	return clients, nil
}
