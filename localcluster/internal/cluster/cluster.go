// SPDX-License-Identifier: Apache-2.0

// Package cluster brings a local cluster up and down.
//
//	Up      directory, identities ─▶ etcd ─▶ kube-apiserver ─▶ the others ─▶ nodes ready
//	Status  state file, processes, health ─▶ Facts
//	Down    processes of pods ─▶ components ─▶ strays ─▶ files
//
// All that is known of a cluster is in its directory: every call starts from
// the state file there, whichever process wrote it.
package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/build"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/kubeapi"
	"github.com/slipway-k8s/slipway/localcluster/internal/layout"
	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// The environment variables by which every process of a cluster, and of one of
// its pods, can be found again.
const (
	markerName    = "SLIPWAY_LOCALCLUSTER_ID"
	podMarkerName = "SLIPWAY_LOCALCLUSTER_POD"
)

// How long processes may take to end before they are killed.
const (
	stopGrace = 5 * time.Second
	podGrace  = 10 * time.Second
	// partingGrace is for components of a cluster that goes as a whole: there is
	// little to wait for, and the API server would take a minute to say goodbye to
	// all who watch something.
	partingGrace = time.Second
)

var (
	// ErrDifferent means that a cluster runs with other settings than those that
	// are asked for.
	ErrDifferent = errors.New("it already runs with other settings of its control plane; take it down first")
	// ErrNotOurs means that a directory is not empty and not a cluster's.
	ErrNotOurs = errors.New("the directory holds something that is not a local cluster; nothing was changed")
	// ErrUnknownComponent means that there is no component of that name.
	ErrUnknownComponent = errors.New("unknown component")
)

// Cluster is the cluster in one directory, whether it exists or not.
type Cluster struct {
	dir    layout.Dir
	report *progress.Reporter
}

// Open returns the cluster in this directory.
func Open(dir string, report *progress.Reporter) (*Cluster, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the directory %s: %w", dir, err)
	}
	return &Cluster{dir: layout.Dir(absolute), report: report}, nil
}

// Dir is where the cluster's files are.
func (c *Cluster) Dir() layout.Dir { return c.dir }

// API returns a client for the cluster's API server, as its administrator.
func (c *Cluster) API(st *state.State) (*kubeapi.Client, error) {
	client, err := kubeapi.HTTPClient(
		component.AuthorityFile(c.dir), c.dir.Cert(component.Admin), c.dir.Key(component.Admin))
	if err != nil {
		return nil, err
	}
	return kubeapi.New(settings(c.dir, st, nil).Server(), client), nil
}

// environment is what every process of the cluster is started with: little of
// the launcher's own, so that a cluster is the same wherever it is started.
func (c *Cluster) environment(st *state.State) []string {
	environment := []string{
		st.Marker,
		"PATH=" + os.Getenv("PATH"),
		"HOME=" + c.dir.KwokHome(),
		"KWOK_WORKDIR=" + c.dir.KwokHome(),
	}
	for _, name := range []string{"TMPDIR", "GOMAXPROCS", "GOGC", "GOMEMLIMIT"} {
		if value, found := os.LookupEnv(name); found {
			environment = append(environment, name+"="+value)
		}
	}
	return environment
}

func settings(dir layout.Dir, st *state.State, built *build.Built) component.Settings {
	s := component.Settings{Dir: dir, Config: st.Config, Ports: st.Ports}
	if built != nil {
		s.Stages = built.Stages
	}
	return s
}
