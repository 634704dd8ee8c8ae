// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user has no name in the image, which has no passwd file. The kubelet checks a number against runAsNonRoot. Without
// the group, it would be root's.
const user = "65532:65532"

const repositoryURL = "https://github.com/slipway-k8s/slipway"

// image puts the programs for arch, which are in a directory, onto nothing. There are no
// certificates of authorities: the only server that is talked to is the API server, and its
// authority comes with the account of the pod.
func image(r release, arch, binaries string) (v1.Image, error) {
	var layers []mutate.Addendum
	for _, program := range r.programs {
		l, err := layer(filepath.Join(binaries, program))
		if err != nil {
			return nil, err
		}
		layers = append(layers, mutate.Addendum{Layer: l, History: v1.History{
			Created: v1.Time{Time: time.Unix(0, 0).UTC()}, CreatedBy: "images build", Comment: "/" + program,
		}})
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, layers...)
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture = "linux", arch
	config.Created = v1.Time{Time: r.created}
	config.Config = v1.Config{
		User:       user,
		Entrypoint: []string{"/" + r.programs[0]},
		WorkingDir: "/",
		Labels:     r.annotations(),
	}
	if arch == "arm64" {
		config.Variant = "v8"
	}
	img, err = mutate.ConfigFile(img, config)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(img, r.annotations()).(v1.Image), nil
}

// annotations describe an image: as labels in its config, which engines show, and as annotations of manifest and
// index, which registries show.
func (r release) annotations() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "slipway",
		"org.opencontainers.image.description": "Take Kubernetes nodes out of service and return them, on the server side",
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.revision,
		"org.opencontainers.image.created":     r.created.Format(time.RFC3339),
		"org.opencontainers.image.source":      repositoryURL,
		"org.opencontainers.image.url":         repositoryURL,
		"org.opencontainers.image.licenses":    "Apache-2.0",
	}
}
