// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"math/rand/v2"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// resolve reads the volumes of claims of pods that stay on the node. A claim that does not exist has none.
func (r *run) resolve(ctx context.Context, claims []types.NamespacedName) {
	look, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	for _, claim := range claims {
		name, err := r.volumeOf(look, claim)
		if err != nil {
			r.puzzled(fmt.Errorf("volume of claim %s: %w", claim, err), r.d.config.Clock.Now(), rand.Float64())
			return
		}
		r.volumes[claim] = name
	}
}

func (r *run) volumeOf(ctx context.Context, claim types.NamespacedName) (string, error) {
	core := r.d.config.Pods
	c, err := core.PersistentVolumeClaims(claim.Namespace).Get(ctx, claim.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) || err == nil && c.Spec.VolumeName == "" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	volume, err := core.PersistentVolumes().Get(ctx, c.Spec.VolumeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return attachedName(volume), nil
}
