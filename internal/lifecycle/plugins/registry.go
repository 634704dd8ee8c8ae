// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
)

// ErrNotRegistered means that no instance of the driver is registered.
var ErrNotRegistered = errors.New("not registered on this node")

// Options of a [Registry].
type Options struct {
	// Dir is the registration directory. It is created with mode 0700 if absent.
	Dir string
	// Clock is for tests. Nil: the real one.
	Clock clock.WithTickerAndDelayedExecution
	// OnChange is called after the state of any driver has changed: look again. It
	// is called from several goroutines and must not block.
	OnChange func()
}

// Registry is the drivers of one node. Its methods may be called at any time, from
// any goroutine.
type Registry struct {
	dir      string
	clock    clock.WithTickerAndDelayedExecution
	onChange func()
	// rescan is rescanEvery, and newWatcher is fsnotify's, but in tests.
	rescan     time.Duration
	newWatcher func() (*fsnotify.Watcher, error)

	// checks are the readiness checks that are going on. Run waits for them.
	checks sync.WaitGroup

	mu      sync.Mutex
	logger  klog.Logger
	running bool
	since   time.Time // when Run began
	drivers map[string]*driver
}

// New is a registry that knows of no driver until it is run.
func New(options Options) *Registry {
	r := &Registry{
		dir:      filepath.Clean(options.Dir),
		clock:    options.Clock,
		onChange: options.OnChange,
		drivers:  map[string]*driver{},

		rescan:     rescanEvery,
		newWatcher: fsnotify.NewWatcher,
	}
	if r.clock == nil {
		r.clock = clock.RealClock{}
	}
	if r.onChange == nil {
		r.onChange = func() {}
	}
	return r
}

// State is what is known of a driver.
type State struct {
	// Registered: an instance of the driver has registered, and is still there.
	Registered bool
	// Endpoint is the socket of the newest instance.
	Endpoint string
	// MissingSince is when the last instance went, or for a driver that has not been
	// seen, when Run began. Zero while the driver is registered.
	MissingSince time.Time
	// ReadyFor is the key of the last [Registry.Check] that found the newest instance
	// ready.
	ReadyFor string
	// NotReady says, for people, what a check that is going on, or the last one that
	// gave up, has found. Empty if there is nothing to say.
	NotReady string
}

// Driver is the state of the driver with that name.
func (r *Registry) Driver(name string) State {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.drivers[name]
	if !ok {
		return State{MissingSince: r.since}
	}
	return d.state()
}

// Names of the drivers that are registered, sorted.
func (r *Registry) Names() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var names []string
	for name, d := range r.drivers {
		if d.newest() != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Client is for calls to the newest instance of a driver. Its connection is made when
// it is needed, and made again when it was lost. When the newest instance is another
// one, calls end with code Canceled: ask for a client before each call.
func (r *Registry) Client(name string) (driverv1.SLMPluginClient, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.drivers[name]
	if !ok || d.newest() == nil {
		return nil, fmt.Errorf("driver %s: %w", name, ErrNotRegistered)
	}
	if d.conn == nil {
		conn, err := connect(d.newest().endpoint, nil)
		if err != nil {
			return nil, fmt.Errorf("driver %s: %w", name, err)
		}
		d.conn = conn
	}
	return driverv1.NewSLMPluginClient(d.conn), nil
}
