// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
)

// What drivers can be called, as in the CRD's validation of spec.driver: no transition could
// name any other, and names are listed on the Node with commas between them.
const maxName = 253

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(/[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$`)

// registrationTimeout is for each of the two calls of a registration.
const registrationTimeout = 5 * time.Second

// follower keeps one registration socket registered while somebody listens there.
type follower struct {
	socket socketFile
	cancel context.CancelFunc
	done   chan struct{}
}

func (r *Registry) startFollower(ctx context.Context, socket socketFile) *follower {
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{socket: socket, cancel: cancel, done: make(chan struct{})}
	go func() { // watch.drop waits for it
		defer close(f.done)
		defer r.deregister(socket.path)
		r.follow(ctx, socket)
	}()
	return f
}

// follow registers the socket, again and again: when it was refused because there was
// an older one, when the process was not ready, when the connection was lost.
func (r *Registry) follow(ctx context.Context, socket socketFile) {
	logger := klog.FromContext(ctx).WithValues("socket", socket.path)
	fresh := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 10, Cap: 30 * time.Second}
	backoff, complaint := fresh, ""
	for {
		registered, err := r.attend(ctx, socket)
		if ctx.Err() != nil {
			return
		}
		if registered {
			backoff, complaint = fresh, ""
		}
		if err != nil && err.Error() != complaint {
			complaint = err.Error()
			logger.Info("The driver is not registered; trying again", "reason", complaint)
		}
		timer := r.clock.NewTimer(backoff.Step())
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C():
		}
	}
}

// attend registers the driver behind the socket, and returns when its connection was
// lost, or when it cannot be registered now.
func (r *Registry) attend(ctx context.Context, socket socketFile) (registered bool, err error) {
	conn, err := connect(socket.path, nil)
	if err != nil {
		return false, err
	}
	defer closeConn(conn)
	client := registerapi.NewRegistrationClient(conn)

	info, err := r.info(ctx, client)
	if err != nil {
		r.deregisterIfRefused(ctx, socket)
		return false, fmt.Errorf("ask who it is: %w", err)
	}
	if err := r.admit(socket, info); err != nil {
		r.deregister(socket.path)
		return false, errors.Join(err, r.notify(ctx, client, err))
	}
	if err := r.notify(ctx, client, nil); err != nil {
		r.deregister(socket.path)
		return false, err
	}
	awaitLoss(ctx, conn)
	r.deregisterIfRefused(ctx, socket)
	return true, nil
}

func (r *Registry) info(ctx context.Context, client registerapi.RegistrationClient) (*registerapi.PluginInfo, error) {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	info, err := client.GetInfo(ctx, &registerapi.InfoRequest{})
	return info, withCause(ctx, err)
}

// notify tells the driver the outcome: registered, or why not.
func (r *Registry) notify(ctx context.Context, client registerapi.RegistrationClient, refusal error) error {
	ctx, cancel := r.withTimeout(ctx)
	defer cancel()
	status := &registerapi.RegistrationStatus{PluginRegistered: refusal == nil}
	if refusal != nil {
		status.Error = refusal.Error()
	}
	if _, err := client.NotifyRegistrationStatus(ctx, status); err != nil {
		return fmt.Errorf("tell it the outcome: %w", withCause(ctx, err))
	}
	return nil
}

var errNoAnswer = fmt.Errorf("it did not answer within %s", registrationTimeout)

// withTimeout is context.WithTimeoutCause with the registry's clock.
func (r *Registry) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := r.clock.AfterFunc(registrationTimeout, func() { cancel(errNoAnswer) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// withCause is err, or the reason for which the call was ended.
func withCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// admit registers what the driver says it is, if it makes sense.
func (r *Registry) admit(socket socketFile, info *registerapi.PluginInfo) error {
	endpoint := info.GetEndpoint()
	if endpoint == "" { // as the registration API has it: the same socket serves both
		endpoint = socket.path
	}
	switch {
	case info.GetType() != driverv1.PluginType:
		return fmt.Errorf("plugin type is %q, must be %q", info.GetType(), driverv1.PluginType)
	case info.GetName() == "":
		return errors.New("plugin name is empty, must be the name of the driver")
	case len(info.GetName()) > maxName:
		return fmt.Errorf("plugin name has %d characters, must have at most %d", len(info.GetName()), maxName)
	case !namePattern.MatchString(info.GetName()):
		return fmt.Errorf("plugin name is %q, must be lower case letters, digits, '-' and '.', with at most one '/' inside", info.GetName())
	case !filepath.IsAbs(endpoint):
		return fmt.Errorf("endpoint is %q, must be the absolute path of a socket", endpoint)
	case !slices.Contains(info.GetSupportedVersions(), driverv1.ServiceName):
		return fmt.Errorf("supported versions are [%s], must have %q among them",
			strings.Join(info.GetSupportedVersions(), " "), driverv1.ServiceName)
	}
	return r.register(info.GetName(), instance{socket: socket, endpoint: endpoint})
}

// awaitLoss returns when the other end has closed the connection, as the kernel does
// when the process dies: this is noticed at once, where a file that is left behind
// tells nothing.
//
// A call may have been answered before the connection calls itself Ready.
func awaitLoss(ctx context.Context, conn *grpc.ClientConn) {
	state := conn.GetState()
	for state == connectivity.Connecting || state == connectivity.Ready {
		if !conn.WaitForStateChange(ctx, state) {
			return
		}
		state = conn.GetState()
	}
}

// deregisterIfRefused finds out whether nobody listens any more. This is for good: a
// socket that was left by its process is never listened to again.
func (r *Registry) deregisterIfRefused(ctx context.Context, socket socketFile) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket.path)
	if err == nil {
		_ = conn.Close() // nothing was sent on it
		return
	}
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
		r.deregister(socket.path)
	}
}
