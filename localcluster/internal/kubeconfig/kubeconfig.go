// SPDX-License-Identifier: Apache-2.0

// Package kubeconfig writes the file by which a client finds the API server and
// proves who it is.
package kubeconfig

import (
	"encoding/json"
	"fmt"

	"github.com/slipway-k8s/slipway/localcluster/internal/atomicfile"
)

// Access says which server, and as whom. Files are named, not contained: a
// renewed token reaches a client that already runs.
type Access struct {
	Server string
	CAFile string
	// User is a name for people to read.
	User string
	// Namespace is the default of kubectl's -n.
	Namespace string

	// Either a client certificate or a token.
	CertFile, KeyFile string
	TokenFile         string
}

type (
	clusterEntry struct {
		Server string `json:"server"`
		CAFile string `json:"certificate-authority"`
	}
	userEntry struct {
		CertFile  string `json:"client-certificate,omitempty"`
		KeyFile   string `json:"client-key,omitempty"`
		TokenFile string `json:"tokenFile,omitempty"`
	}
	contextEntry struct {
		Cluster   string `json:"cluster"`
		User      string `json:"user"`
		Namespace string `json:"namespace,omitempty"`
	}
	namedCluster struct {
		Name    string       `json:"name"`
		Cluster clusterEntry `json:"cluster"`
	}
	namedUser struct {
		Name string    `json:"name"`
		User userEntry `json:"user"`
	}
	namedContext struct {
		Name    string       `json:"name"`
		Context contextEntry `json:"context"`
	}
	file struct {
		APIVersion     string         `json:"apiVersion"`
		Kind           string         `json:"kind"`
		CurrentContext string         `json:"current-context"`
		Clusters       []namedCluster `json:"clusters"`
		Users          []namedUser    `json:"users"`
		Contexts       []namedContext `json:"contexts"`
	}
)

// Encode returns the file's content: JSON, which every reader of YAML reads.
func Encode(access Access) ([]byte, error) {
	const cluster = "localcluster"
	name := access.User + "@" + cluster
	content, err := json.MarshalIndent(file{
		APIVersion:     "v1",
		Kind:           "Config",
		CurrentContext: name,
		Clusters:       []namedCluster{{cluster, clusterEntry{access.Server, access.CAFile}}},
		Users:          []namedUser{{access.User, userEntry{access.CertFile, access.KeyFile, access.TokenFile}}},
		Contexts:       []namedContext{{name, contextEntry{cluster, access.User, access.Namespace}}},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the kubeconfig of %s: %w", access.User, err)
	}
	return append(content, '\n'), nil
}

// Write writes the file, for its owner's eyes only.
func Write(path string, access Access) error {
	content, err := Encode(access)
	if err != nil {
		return err
	}
	const privateMode = 0o600
	return atomicfile.Write(path, content, privateMode)
}
