// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// volumes reads the claims of the pods that may leave, and their volumes: where a volume is
// bound to a node, so is its pod.
func (p *planning) volumes(ctx context.Context) error {
	if p.facts.Nodes == nil {
		return nil // nothing is said of replacements
	}
	p.facts.Claims = map[types.NamespacedName]*corev1.PersistentVolumeClaim{}
	p.facts.Volumes = map[string]*corev1.PersistentVolume{}
	for _, n := range p.facts.Drains.Nodes {
		for _, key := range claimsOf(n.Pods) {
			if err := p.volume(ctx, key); err != nil {
				p.facts.Claims, p.facts.Volumes = nil, nil
				return p.unsure(err, "volumes and their claims", "replacements are taken to reach their volumes everywhere")
			}
		}
	}
	return nil
}

// allVolumes reads all claims and volumes of the cluster.
func (f *fleet) allVolumes(ctx context.Context) error {
	if f.noPods {
		return nil
	}
	f.facts.Claims = map[types.NamespacedName]*corev1.PersistentVolumeClaim{}
	f.facts.Volumes = map[string]*corev1.PersistentVolume{}
	err := pages(ctx, f.r.client, func(list *corev1.PersistentVolumeClaimList) {
		for i := range list.Items {
			f.facts.Claims[client.ObjectKeyFromObject(&list.Items[i])] = &list.Items[i]
		}
	})
	if err == nil {
		err = pages(ctx, f.r.client, func(list *corev1.PersistentVolumeList) {
			for i := range list.Items {
				f.facts.Volumes[list.Items[i].Name] = &list.Items[i]
			}
		})
	}
	if err != nil {
		f.facts.Claims, f.facts.Volumes = nil, nil
		return f.unsure(err, "volumes and their claims", "replacements are taken to reach their volumes everywhere")
	}
	return nil
}

func (p *planning) volume(ctx context.Context, key client.ObjectKey) error {
	claim := &corev1.PersistentVolumeClaim{}
	if err := p.r.client.Get(ctx, key, claim); err != nil {
		return client.IgnoreNotFound(err)
	}
	p.facts.Claims[key] = claim
	name := claim.Spec.VolumeName
	if name == "" || p.facts.Volumes[name] != nil {
		return nil
	}
	volume := &corev1.PersistentVolume{}
	err := p.r.client.Get(ctx, client.ObjectKey{Name: name}, volume)
	if err == nil {
		p.facts.Volumes[name] = volume
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func claimsOf(pods []*corev1.Pod) []client.ObjectKey {
	var all []client.ObjectKey
	for _, pod := range pods {
		for _, v := range pod.Spec.Volumes {
			if v.PersistentVolumeClaim != nil {
				all = append(all, client.ObjectKey{Namespace: pod.Namespace, Name: v.PersistentVolumeClaim.ClaimName})
			}
		}
	}
	return all
}
