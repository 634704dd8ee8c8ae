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

// requestTimeout is how long one request may take. Requests are not cut off when the
// process ends: a completion that is under way should arrive.
const requestTimeout = 10 * time.Second

// evictions are the requests that a run makes about its Eviction.
type evictions interface {
	// read reads it anew.
	read(ctx context.Context, of *evictionv1alpha1.Eviction) (*evictionv1alpha1.Eviction, error)
	// write writes the responder's entry if the Eviction is still as it was seen, and
	// gives what it is then. It fails with a conflict if it is not.
	write(ctx context.Context, seen *evictionv1alpha1.Eviction, entry *evictionv1alpha1.ResponderStatus) (*evictionv1alpha1.Eviction, error)
}

type server struct {
	client lifecycleclient.EvictionsGetter
	// manager is the responder's own: who applies with another's name takes away what
	// that one has written.
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
	// By force: what is in the entry besides startTime is the responder's, even if it was
	// set by whoever made the entry.
	return s.client.Evictions(seen.Namespace).ApplyStatus(ctx, patch(seen, entry), metav1.ApplyOptions{FieldManager: s.manager, Force: true})
}

// patch is the entry in its Eviction. startTime is the controller's, and left to it.
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

// maxManager is the longest name that the server takes for a field manager.
const maxManager = 128

// managerOf is the responder's name, or what tells it from others where that is too long.
func managerOf(name string) string {
	if len(name) <= maxManager {
		return name
	}
	sum := fmt.Sprintf("-%x", sha256.Sum256([]byte(name)))[:33]
	return name[:maxManager-len(sum)] + sum
}

// advice says what may help against a write that was refused, if that can be known.
func advice(err error, now time.Time) string {
	switch {
	case isAboutTime(err):
		return fmt.Sprintf("the server takes only times within %s of its own; this process says it is %s: set the clock of its node, or the server's",
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
