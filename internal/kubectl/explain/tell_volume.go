// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
)

// tellVolume finds the VolumeAttachment of a volume, and says why it is not detached.
func tellVolume(t telling) {
	driver, handle, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(t.cause.By, "Volume "), "kubernetes.io/csi/"), "^")
	attachments := t.attachmentsOf(driver, handle)
	for _, a := range attachments {
		t.detail("VolumeAttachment %s: by %s, attached %t", a.Name, a.Spec.Attacher, a.Status.Attached)
		if a.Status.DetachError != nil {
			t.detail("it cannot be detached: %s", a.Status.DetachError.Message)
		}
		t.remedy("see what the volume waits for", "kubectl describe volumeattachment %s", a.Name)
	}
	if len(attachments) == 0 {
		if !t.unread(Attachments) {
			t.detail("it has no VolumeAttachment: the node's status has yet to say that it is gone, or nobody has detached it")
		}
		t.remedy("see what is attached to the node", "kubectl get volumeattachments")
	}
	t.remedy(fmt.Sprintf("look at the pods of the CSI driver %s; the drain ends without the volume after volumeTimeout", driver), "")
}

// attachmentsOf is the one of the volume, by the name that the attach controller gives it;
// where nothing has that name, all of the driver.
func (t telling) attachmentsOf(driver, handle string) []storagev1.VolumeAttachment {
	name := fmt.Sprintf("csi-%x", sha256.Sum256([]byte(handle+driver+t.NodeName)))
	ofDriver := slices.DeleteFunc(slices.Clone(t.Attachments), func(a storagev1.VolumeAttachment) bool { return a.Spec.Attacher != driver })
	if i := slices.IndexFunc(ofDriver, func(a storagev1.VolumeAttachment) bool { return a.Name == name }); i >= 0 {
		return ofDriver[i : i+1]
	}
	return ofDriver
}
