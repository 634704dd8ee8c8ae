// SPDX-License-Identifier: Apache-2.0

package podrun

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/slipway-k8s/slipway/localcluster/internal/process"
	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
)

// Run is a command to run as a pod.
type Run struct {
	API typedcorev1.CoreV1Interface
	// Pod is bound to a node.
	Pod *corev1.Pod
	// The pod's clients need Server and AuthorityFile.
	Server, AuthorityFile string
	Files                 Files
	TokenLife             time.Duration

	// Command is the program and its arguments. Env and Marker are added to the launcher's own
	// environment; Marker identifies everything that the command starts.
	Command []string
	Env     []string
	Marker  string
	// Restart starts the command again whenever it ends.
	Restart        bool
	Stdin          io.Reader
	Stdout, Stderr io.Writer

	Report *progress.Reporter
}

var (
	errNotBound = errors.New("it is not bound to a node yet")
	errDeleted  = errors.New("the pod is being deleted")
)

// AwaitBound returns the pod as soon as it is bound to a node, or fails when ctx is done. The
// pod need not exist yet.
func AwaitBound(ctx context.Context, api typedcorev1.CoreV1Interface, namespace, name string, report *progress.Reporter) (*corev1.Pod, error) {
	var pod *corev1.Pod
	err := report.Await(ctx, 200*time.Millisecond, func(ctx context.Context) (bool, error) {
		var err error
		pod, err = api.Pods(namespace).Get(ctx, name, metav1.GetOptions{})
		switch {
		case err != nil:
			return false, err
		case pod.DeletionTimestamp != nil:
			return false, errDeleted
		case pod.Spec.NodeName == "":
			return false, errNotBound
		}
		return true, nil
	})
	if err != nil {
		return nil, fmt.Errorf("wait for pod %s/%s: %w", namespace, name, err)
	}
	return pod, nil
}

// Do runs the command until it ends for good, the pod is deleted, or ctx is done. The command's
// own failure is an *exec.ExitError.
func (r Run) Do(outer context.Context) error {
	if err := r.Files.write(r); err != nil {
		return err
	}
	renewal, err := r.renewToken(outer)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(outer)
	defer cancel(nil)
	var attendants errgroup.Group
	attendants.Go(func() error { r.keepTokenFresh(ctx, renewal); return nil })
	attendants.Go(func() error {
		if r.awaitDeletion(ctx) == nil {
			cancel(errDeleted)
		}
		return nil
	})

	ended := r.command(ctx)
	cause := context.Cause(ctx)
	cancel(nil)
	_ = attendants.Wait() // they return no error
	if errors.Is(cause, errDeleted) {
		r.Report.Step("pod %s/%s: %v; the command has ended", r.Pod.Namespace, r.Pod.Name, cause)
		return nil
	}
	if outer.Err() != nil {
		return nil // it was asked to end, and did
	}
	return ended
}

// The pause before a restart doubles with each failure, and starts again after a healthy run. All
// are shorter than the kubelet's: a test has less time than an operator.
var restartPause = wait.Backoff{Duration: time.Second, Factor: 2, Cap: 30 * time.Second, Steps: 10}

const healthyRun = time.Minute

// command runs the command, and again if Restart is set.
func (r Run) command(ctx context.Context) error {
	pause := restartPause
	for {
		started := time.Now()
		err := r.once(ctx)
		if !r.Restart || ctx.Err() != nil {
			return err
		}
		if time.Since(started) >= healthyRun {
			pause = restartPause
		}
		next := pause.Step()
		r.Report.Step("the command ended (%s); it starts again in %s", outcome(err), next)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(next):
		}
	}
}

func outcome(err error) string {
	if err == nil {
		return "exit status 0"
	}
	return err.Error()
}

// once runs the command to its end. When ctx is done, the command is asked to end.
func (r Run) once(ctx context.Context) error {
	const grace = 8 * time.Second // less than the launcher gives this process
	command := exec.CommandContext(ctx, r.Command[0], r.Command[1:]...)
	command.Env = slices.Concat(os.Environ(), r.Env, []string{r.Marker}, r.Files.environment(r.Pod))
	command.Stdin, command.Stdout, command.Stderr = r.Stdin, r.Stdout, r.Stderr
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = grace
	if err := command.Start(); err != nil {
		return fmt.Errorf("start the command of pod %s/%s: %w", r.Pod.Namespace, r.Pod.Name, err)
	}
	defer r.Files.removePID()
	if err := r.Files.writePID(command.Process.Pid); err != nil {
		_ = command.Process.Kill()
		_ = command.Wait()
		return err
	}
	// When a container's first process ends, the rest of its processes end.
	return errors.Join(command.Wait(), process.KillStrays(r.Marker))
}

// renewToken writes a token of the pod's service account that is bound to the pod: it names the pod and its node, and
// becomes invalid with the pod's deletion. It returns the time to renew the token: after four fifths of its life, as
// the kubelet does.
func (r Run) renewToken(ctx context.Context) (renewal time.Time, err error) {
	issued := time.Now()
	seconds := int64(r.TokenLife.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: &seconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: r.Pod.Name, UID: r.Pod.UID},
	}}
	granted, err := r.API.ServiceAccounts(r.Pod.Namespace).CreateToken(ctx, r.Pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		return time.Time{}, fmt.Errorf("request a token for pod %s/%s: %w", r.Pod.Namespace, r.Pod.Name, err)
	}
	life := granted.Status.ExpirationTimestamp.Sub(issued)
	return issued.Add(life * 4 / 5), r.Files.writeToken(granted.Status.Token)
}

// keepTokenFresh renews the token in time until ctx is done. The API server may be away for a
// while: the old token is still good, and the next attempt follows soon.
func (r Run) keepTokenFresh(ctx context.Context, renewal time.Time) {
	const retry = 2 * time.Second
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(renewal)):
		}
		next, err := r.renewToken(ctx)
		if err != nil && ctx.Err() == nil {
			r.Report.Step("renewing the token: %v", err)
		}
		if err != nil {
			next = time.Now().Add(retry)
		}
		renewal = next
	}
}

// awaitDeletion returns nil as soon as the pod is being deleted or gone, and an error when ctx
// is done. While the API server is away, the pod counts as present, as it does for a kubelet.
func (r Run) awaitDeletion(ctx context.Context) error {
	const pause = time.Second // between the end of a watch and the next
	return wait.PollUntilContextCancel(ctx, pause, true, func(ctx context.Context) (bool, error) { return r.seesDeletion(ctx), nil })
}

// seesDeletion watches the pod until it is deleted, or the server ends the watch.
func (r Run) seesDeletion(ctx context.Context) bool {
	pods := r.API.Pods(r.Pod.Namespace)
	now, err := pods.Get(ctx, r.Pod.Name, metav1.GetOptions{})
	if err != nil {
		return apierrors.IsNotFound(err)
	}
	if r.isDeleted(now) {
		return true
	}
	changes, err := pods.Watch(ctx, metav1.SingleObject(now.ObjectMeta))
	if err != nil {
		return false
	}
	defer changes.Stop()
	for change := range changes.ResultChan() {
		changed, isPod := change.Object.(*corev1.Pod)
		if isPod && (change.Type == watch.Deleted || r.isDeleted(changed)) {
			return true
		}
	}
	return false
}

// isDeleted holds for another pod of the same name, too.
func (r Run) isDeleted(found *corev1.Pod) bool {
	return found.UID != r.Pod.UID || found.DeletionTimestamp != nil
}
