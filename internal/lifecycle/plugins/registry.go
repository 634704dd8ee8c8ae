// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"google.golang.org/grpc"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
)

// ErrNotRegistered means that no instance of the driver is registered.
var ErrNotRegistered = errors.New("not registered on this node")

// checkLimit ends a check without a result. The agent then starts another check, while
// an event still needs one.
const checkLimit = time.Minute

// Registry holds the drivers of one node. Several goroutines may use it, also before and
// after Run.
type Registry struct {
	dirs     []string
	onChange func()
	// Tests replace these.
	clock              clock.WithTicker
	rescan, checkLimit time.Duration
	newWatcher         func() (*fsnotify.Watcher, error)

	// checks counts the readiness checks in progress. Run waits for them.
	checks sync.WaitGroup

	mu     sync.Mutex
	logger klog.Logger
	since  time.Time // the start of Run
	// instances are in the order of the age of their socket files: the order is the same
	// after a restart of the agent.
	instances    []*instance
	missingSince map[string]time.Time // by the name of a driver that has left
}

// instance is a registered process of a driver.
type instance struct {
	name, endpoint string
	dial           dialer
	socket         socketFile // zero for a driver in this process

	// Only the newest instance of a driver has a connection and a check.
	conn      *grpc.ClientConn   // nil before the first call
	stopCheck context.CancelFunc // nil without a check in progress
	checked   []func()           // called at the end of the check
	readyAt   time.Time
}

// InProcessBuffer is the size of the buffers between a process and a driver in it, in bytes.
const InProcessBuffer = 64 << 10

// New returns a registry without drivers. Run finds them in the registration directories. It
// calls onChange after each registration and deregistration. Several goroutines call it, and
// it must not block.
func New(dirs []string, onChange func()) *Registry {
	return &Registry{
		dirs: dirs, onChange: onChange, missingSince: map[string]time.Time{},
		clock: clock.RealClock{}, rescan: rescanEvery, checkLimit: checkLimit, newWatcher: fsnotify.NewWatcher,
	}
}

// State is the state of a driver.
type State struct {
	// Registered means that an instance of the driver is registered.
	Registered bool
	// MissingSince is the time at which the last instance left. For a driver that has
	// never registered, it is the start of Run. It is zero while the driver is registered.
	MissingSince time.Time
	// ReadyAt is the time at which the newest instance last passed a [Registry.Check].
	ReadyAt time.Time
}

// Driver returns the state of the driver with that name.
func (r *Registry) Driver(name string) State {
	r.mu.Lock()
	defer r.mu.Unlock()
	if newest := r.newest(name); newest != nil {
		return State{Registered: true, ReadyAt: newest.readyAt}
	}
	if left, ok := r.missingSince[name]; ok {
		return State{MissingSince: left}
	}
	return State{MissingSince: r.since}
}

// Names returns the names of the registered drivers, sorted.
func (r *Registry) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for _, i := range r.instances {
		names = append(names, i.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// AddInProcess registers a driver that runs in this process, for the whole time of the process. No socket registers under its
// name. Call it before Run.
func (r *Registry) AddInProcess(name string, dial func(context.Context) (net.Conn, error)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.instances = append(r.instances, &instance{name: name, dial: dial})
}

// Client returns a client for calls to the newest instance of a driver. It connects with
// the first call, and again after the loss of a connection. When a newer instance
// registers, calls to the older one end with code Canceled: get a client for each call.
func (r *Registry) Client(name string) (driverv1.SLMPluginClient, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	newest := r.newest(name)
	if newest == nil {
		return nil, fmt.Errorf("driver %s: %w", name, ErrNotRegistered)
	}
	if newest.conn == nil {
		conn, err := connect(newest.dial)
		if err != nil {
			return nil, fmt.Errorf("driver %s: %w", name, err)
		}
		newest.conn = conn
	}
	return driverv1.NewSLMPluginClient(newest.conn), nil
}

// Check checks whether the newest instance of a driver answers, sets State.ReadyAt if it
// does, and then calls done, which must not block. It uses a new connection: a frozen
// process accepts connections, but does not send anything on them. A check ends when the
// instance is ready, when it is no longer the newest, or after a minute. All callers for
// an instance share one check.
func (r *Registry) Check(name string, done func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	newest := r.newest(name)
	if newest == nil {
		return
	}
	newest.checked = append(newest.checked, done)
	if newest.stopCheck != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.checkLimit)
	newest.stopCheck = cancel
	r.checks.Go(func() {
		defer cancel()
		for _, done := range r.finishCheck(newest, isReady(ctx, newest.dial)) {
			done()
		}
	})
}

func (r *Registry) finishCheck(of *instance, ready bool) (checked []func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ready {
		of.readyAt = r.clock.Now()
	}
	checked, of.checked, of.stopCheck = of.checked, nil, nil
	return checked
}

// newest returns the newest instance of a driver, or nil. The caller holds the lock.
func (r *Registry) newest(name string) *instance {
	for _, i := range slices.Backward(r.instances) {
		if i.name == name {
			return i
		}
	}
	return nil
}

// register adds the instance. It replaces an instance with the same socket.
func (r *Registry) register(added *instance) error {
	changed, err := r.add(added)
	if changed {
		r.logger.Info("Driver registered", "driver", added.name, "endpoint", added.endpoint, "socket", added.socket.path)
		r.onChange()
	}
	return err
}

func (r *Registry) add(added *instance) (changed bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, have := range r.instances {
		if err := have.excludes(added); err != nil {
			return false, err
		}
		switch sameEndpoint := have.endpoint == added.endpoint; {
		case sameEndpoint && have.socket == added.socket && have.name == added.name:
			return false, nil
		case sameEndpoint && have.socket.path != added.socket.path:
			return false, fmt.Errorf("endpoint %s is registered already, by driver %s with %s", added.endpoint, have.name, have.socket.path)
		}
	}
	r.remove(added.socket.path)
	before := r.newest(added.name)
	r.instances = append(r.instances, added)
	slices.SortStableFunc(r.instances, func(a, b *instance) int { return a.socket.modified.Compare(b.socket.modified) })
	if before != nil && r.newest(added.name) == added {
		before.disconnect()
	}
	return true, nil
}

// excludes returns an error if the registration of another instance under the same name might be an impersonation.
func (i *instance) excludes(other *instance) error {
	switch {
	case i.name != other.name:
		return nil
	case i.socket.path == "":
		return fmt.Errorf("driver %s runs in the process of the agent: choose another name", i.name)
	case i.socket.folder != other.socket.folder && i.socket.folder != "":
		return fmt.Errorf("driver %s is registered already, with %s: register in its folder", i.name, i.socket.path)
	default:
		return nil
	}
}

// deregister removes the instance that has registered with the socket.
func (r *Registry) deregister(path string) {
	r.mu.Lock()
	gone := r.remove(path)
	r.mu.Unlock()
	if gone != nil {
		r.logger.Info("Driver deregistered", "driver", gone.name, "socket", path)
		r.onChange()
	}
}

// remove removes and returns an instance, or returns nil. The caller holds the lock.
func (r *Registry) remove(path string) *instance {
	at := slices.IndexFunc(r.instances, func(i *instance) bool { return i.socket.path == path })
	if at < 0 {
		return nil
	}
	gone := r.instances[at]
	gone.disconnect()
	r.instances = slices.Delete(r.instances, at, at+1)
	if r.newest(gone.name) == nil {
		r.missingSince[gone.name] = r.clock.Now()
	}
	return gone
}

func (r *Registry) disconnectAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, i := range r.instances {
		i.disconnect()
	}
}

// disconnect ends the calls and the check of an instance that is no longer the newest.
func (i *instance) disconnect() {
	if i.conn != nil {
		_ = i.conn.Close() // it fails only for a closed connection
		i.conn = nil
	}
	if i.stopCheck != nil {
		i.stopCheck()
	}
}
