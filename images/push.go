// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// built is the index that was built into a directory.
func built(out string) (v1.ImageIndex, error) {
	outer, err := layout.ImageIndexFromPath(layoutDir(out))
	if err != nil {
		return nil, fmt.Errorf("open the layout (make image builds it): %w", err)
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return nil, err
	}
	if len(manifest.Manifests) != 1 {
		return nil, errors.New("open the layout: it is not from make image, which puts one index into it")
	}
	return outer.ImageIndex(manifest.Manifests[0].Digest)
}

// push sends the built layout to a registry, with the credentials of docker login or the like, and returns the
// digest: of the tested index, without a second build. It does not send a damaged layout.
func push(ctx context.Context, out, to string) (v1.Hash, error) {
	reference, err := name.NewTag(to)
	if err != nil {
		return v1.Hash{}, err
	}
	index, err := built(out)
	if err != nil {
		return v1.Hash{}, err
	}
	if err := validate.Index(index); err != nil {
		return v1.Hash{}, fmt.Errorf("the layout is damaged: %w", err)
	}
	err = remote.WriteIndex(reference, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return v1.Hash{}, fmt.Errorf("push to %s: %w", reference, err)
	}
	return index.Digest()
}
