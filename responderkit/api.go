// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applylifecycle "k8s.io/client-go/applyconfigurations/lifecycle/v1alpha1"
	lifecycleclient "k8s.io/client-go/kubernetes/typed/lifecycle/v1alpha1"
)

// requestTimeout limits one request. The end of the process does not abort requests: a
// completion in progress should arrive.
const requestTimeout = 10 * time.Second

// evictions are the requests of a run for its Eviction.
type evictions interface {
	// read reads it again.
	read(ctx context.Context, of *evictionv1alpha1.Eviction) (*evictionv1alpha1.Eviction, error)
	// write writes the responder's entry if the Eviction is unchanged since seen, and
	// returns its new state. Otherwise it fails with a conflict.
	write(ctx context.Context, seen *evictionv1alpha1.Eviction, entry *evictionv1alpha1.ResponderStatus) (*evictionv1alpha1.Eviction, error)
}

type server struct {
	client lifecycleclient.EvictionsGetter
	// manager is the field manager of the responder: an apply with the name of another
	// manager removes that manager's fields.
	manager string
}

func (s server) read(ctx context.Context, of *evictionv1alpha1.Eviction) (*evictionv1alpha1.Eviction, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	return s.client.Evictions(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
}

func (s server) write(ctx context.Context, seen *evictionv1alpha1.Eviction, entry *evictionv1alpha1.ResponderStatus) (*evictionv1alpha1.Eviction, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	// By force: all fields of the entry except startTime belong to the responder, even if
	// another client has set them with the entry.
	return s.client.Evictions(seen.Namespace).ApplyStatus(ctx, patch(seen, entry), metav1.ApplyOptions{FieldManager: s.manager, Force: true})
}

// patch returns the entry in its Eviction. The controller owns startTime, so the patch
// omits it.
func patch(seen *evictionv1alpha1.Eviction, entry *evictionv1alpha1.ResponderStatus) *applylifecycle.EvictionApplyConfiguration {
	own := applylifecycle.ResponderStatus().WithName(entry.Name)
	own.HeartbeatTime = entry.HeartbeatTime
	own.ExpectedCompletionTime = entry.ExpectedCompletionTime
	own.CompletionTime = entry.CompletionTime
	own.Message = entry.Message
	return applylifecycle.Eviction(seen.Name, seen.Namespace).
		WithUID(seen.UID).
		WithResourceVersion(seen.ResourceVersion).
		WithStatus(applylifecycle.EvictionStatus().WithResponders(own))
}

// maxManager is the server's limit for the name of a field manager.
const maxManager = 128

// managerOf returns the responder's name, or a unique short form of an overlong name.
func managerOf(name string) string {
	if len(name) <= maxManager {
		return name
	}
	sum := fmt.Sprintf("-%x", sha256.Sum256([]byte(name)))[:33]
	return name[:maxManager-len(sum)] + sum
}

// advice returns a remedy for a rejected write, if one is known.
func advice(err error, now time.Time) string {
	switch {
	case isAboutTime(err):
		return fmt.Sprintf("the server accepts only times within %s of its clock; the time of this process is %s: correct the clock of its node, or the server's",
			serverSkew, now.UTC().Format(time.RFC3339))
	case apierrors.IsForbidden(err):
		return "let this process get evictions and patch evictions/status in API group " + evictionv1alpha1.GroupName
	default:
		return ""
	}
}

func isAboutTime(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) || status.Status().Details == nil {
		return false
	}
	for _, cause := range status.Status().Details.Causes {
		if strings.HasPrefix(cause.Field, "status.responders[") && strings.HasSuffix(cause.Field, "Time") {
			return true
		}
	}
	return false
}
