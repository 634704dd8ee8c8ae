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

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
)

// maxName and namePattern equal the CRD's validation of spec.driver: no transition could
// have another name. The agent also lists names on the Node, separated by commas.
const maxName = 253

var namePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]*[a-z0-9])?(/[a-z0-9]([a-z0-9._-]*[a-z0-9])?)?$`)

// registrationTimeout limits each of the two calls of a registration.
const registrationTimeout = 5 * time.Second

// errForeign means that the plugin is not a lifecycle driver: it registers with the kubelet.
var errForeign = errors.New("the plugin is not a lifecycle driver")

var errNoAnswer = fmt.Errorf("it did not answer within %s", registrationTimeout)

// follower keeps one registration socket registered while a process listens there.
type follower struct {
	socket socketFile
	cancel context.CancelFunc
	done   chan struct{}
}

func (r *Registry) startFollower(ctx context.Context, socket socketFile) *follower {
	ctx, cancel := context.WithCancel(ctx)
	f := &follower{socket: socket, cancel: cancel, done: make(chan struct{})}
	go func() { // stop waits for it
		defer close(f.done)
		defer r.deregister(socket.path)
		r.follow(ctx, socket)
	}()
	return f
}

func (f *follower) stop() {
	f.cancel()
	<-f.done
}

// follow registers the socket, repeatedly: after a rejection (for example because of an
// older instance), when the process was not ready, and after the loss of the connection. It
// returns for a plugin that is not a lifecycle driver.
func (r *Registry) follow(ctx context.Context, socket socketFile) {
	logger := klog.FromContext(ctx).WithValues("socket", socket.path)
	fresh := wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 10, Cap: 30 * time.Second}
	backoff, complaint := fresh, ""
	for {
		registered, err := r.attend(ctx, socket)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errForeign) {
			logger.Info("The agent ignores the socket", "reason", err.Error())
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

// attend registers the driver behind the socket. It returns after the loss of the
// connection, or at once if the driver cannot be registered now.
func (r *Registry) attend(ctx context.Context, socket socketFile) (registered bool, err error) {
	conn, err := connect(to(socket.path))
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }() // it fails only for a closed connection
	client := registerapi.NewRegistrationClient(conn)

	info, err := getInfo(ctx, client)
	if err != nil {
		r.deregisterIfRefused(ctx, socket)
		return false, fmt.Errorf("get the driver's name: %w", err)
	}
	if info.GetType() != driverv1.PluginType {
		return false, fmt.Errorf("%w: its type is %q, not %q", errForeign, info.GetType(), driverv1.PluginType)
	}
	if err := r.admit(socket, info); err != nil {
		r.deregister(socket.path)
		return false, errors.Join(err, notify(ctx, client, err))
	}
	if err := notify(ctx, client, nil); err != nil {
		r.deregister(socket.path)
		return false, err
	}
	awaitLoss(ctx, conn)
	r.deregisterIfRefused(ctx, socket)
	return true, nil
}

func getInfo(ctx context.Context, client registerapi.RegistrationClient) (*registerapi.PluginInfo, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, registrationTimeout, errNoAnswer)
	defer cancel()
	info, err := client.GetInfo(ctx, &registerapi.InfoRequest{})
	return info, withCause(ctx, err)
}

// notify tells the driver that it is registered, or the reason for its rejection.
func notify(ctx context.Context, client registerapi.RegistrationClient, rejection error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, registrationTimeout, errNoAnswer)
	defer cancel()
	status := &registerapi.RegistrationStatus{PluginRegistered: rejection == nil}
	if rejection != nil {
		status.Error = rejection.Error()
	}
	if _, err := client.NotifyRegistrationStatus(ctx, status); err != nil {
		return fmt.Errorf("notify the driver of the outcome: %w", withCause(ctx, err))
	}
	return nil
}

// withCause returns err, or the reason for the end of the call's ctx.
func withCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// admit registers the driver, if its answer is valid.
func (r *Registry) admit(socket socketFile, info *registerapi.PluginInfo) error {
	endpoint := info.GetEndpoint()
	if endpoint == "" { // as in the registration API: the registration socket has both services
		endpoint = socket.path
	}
	switch {
	case info.GetName() == "":
		return errors.New("plugin name is empty, must be the name of the driver")
	case len(info.GetName()) > maxName:
		return fmt.Errorf("plugin name has %d characters, must have at most %d", len(info.GetName()), maxName)
	case !namePattern.MatchString(info.GetName()):
		return fmt.Errorf("plugin name is %q, must be lower case letters, digits, '-', '_' and '.', with at most one '/' inside", info.GetName())
	case socket.folder != "" && socket.folder != strings.ReplaceAll(info.GetName(), "/", "~"):
		return fmt.Errorf("plugin name is %q, must be the name of the folder of its socket, %q (a slash in the name is \"~\" in the folder's)",
			info.GetName(), socket.folder)
	case !filepath.IsAbs(endpoint):
		return fmt.Errorf("endpoint is %q, must be the absolute path of a socket", endpoint)
	case !slices.Contains(info.GetSupportedVersions(), driverv1.ServiceName):
		return fmt.Errorf("supported versions are [%s], must have %q among them",
			strings.Join(info.GetSupportedVersions(), " "), driverv1.ServiceName)
	}
	return r.register(&instance{name: info.GetName(), endpoint: endpoint, dial: to(endpoint), socket: socket})
}

// deregisterIfRefused deregisters a socket on which no process listens. That is
// permanent: no process can listen again on the socket of a dead one.
func (r *Registry) deregisterIfRefused(ctx context.Context, socket socketFile) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket.path)
	if err == nil {
		_ = conn.Close() // the connection is unused
		return
	}
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOENT) {
		r.deregister(socket.path)
	}
}
