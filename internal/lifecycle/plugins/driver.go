// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"fmt"
	"slices"
	"time"

	"google.golang.org/grpc"
)

// driver is one driver with its instances. Registry.mu guards it.
type driver struct {
	// instances from the oldest to the newest, by the age of their socket files: the
	// order is the same after a restart of the agent.
	instances    []instance
	missingSince time.Time

	// Of the newest instance:
	conn     *grpc.ClientConn // nil until it is asked for
	check    *check           // nil if none is going on
	readyFor string
	notReady string
}

// instance is one process of a driver, as it has registered.
type instance struct {
	socket   socketFile
	endpoint string
}

func (d *driver) newest() *instance {
	if len(d.instances) == 0 {
		return nil
	}
	return &d.instances[len(d.instances)-1]
}

func (d *driver) state() State {
	newest := d.newest()
	if newest == nil {
		return State{MissingSince: d.missingSince}
	}
	state := State{Registered: true, Endpoint: newest.endpoint, ReadyFor: d.readyFor, NotReady: d.notReady}
	if d.check != nil {
		state.NotReady = d.check.problem()
	}
	return state
}

// register adds the instance, in the place of one that came from the same socket.
func (r *Registry) register(name string, added instance) error {
	changed, err := r.add(name, added)
	if changed {
		r.logger.Info("Driver registered", "driver", name, "endpoint", added.endpoint, "socket", added.socket.path)
		r.onChange()
	}
	return err
}

func (r *Registry) add(name string, added instance) (changed bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.refuseDuplicate(added); err != nil {
		return false, err
	}
	d, ok := r.drivers[name]
	if !ok {
		d = &driver{}
		r.drivers[name] = d
	}
	if slices.Contains(d.instances, added) {
		return false, nil
	}
	if !d.has(added.socket.path) {
		r.dropLocked(added.socket.path) // it had another name before
	}
	before := d.newest().key()
	d.remove(added.socket.path)
	d.instances = append(d.instances, added)
	slices.SortStableFunc(d.instances, func(a, b instance) int { return a.socket.modified.Compare(b.socket.modified) })
	r.settle(d, before)
	return true, nil
}

func (r *Registry) refuseDuplicate(added instance) error {
	for name, d := range r.drivers {
		for _, have := range d.instances {
			if have.endpoint == added.endpoint && have.socket.path != added.socket.path {
				return fmt.Errorf("endpoint %s is registered already, by driver %s with %s",
					added.endpoint, name, have.socket.path)
			}
		}
	}
	return nil
}

// deregister removes what came from the socket.
func (r *Registry) deregister(path string) {
	if name, ok := r.drop(path); ok {
		r.logger.Info("Driver deregistered", "driver", name, "socket", path)
		r.onChange()
	}
}

func (r *Registry) drop(path string) (name string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropLocked(path)
}

func (r *Registry) dropLocked(path string) (name string, ok bool) {
	for name, d := range r.drivers {
		before := d.newest().key()
		if !d.remove(path) {
			continue
		}
		if d.newest() == nil {
			d.missingSince = r.clock.Now()
		}
		r.settle(d, before)
		return name, true
	}
	return "", false
}

func (d *driver) has(path string) bool {
	return slices.ContainsFunc(d.instances, func(i instance) bool { return i.socket.path == path })
}

func (d *driver) remove(path string) bool {
	before := len(d.instances)
	d.instances = slices.DeleteFunc(d.instances, func(i instance) bool { return i.socket.path == path })
	return len(d.instances) != before
}

// key is what tells instances apart; the zero value for none.
func (i *instance) key() instance {
	if i == nil {
		return instance{}
	}
	return *i
}

// settle forgets what was known of the newest instance if it is another one now. A
// check that was going on goes on with that one.
func (r *Registry) settle(d *driver, before instance) {
	if d.newest().key() == before {
		return
	}
	d.readyFor, d.notReady = "", ""
	if d.conn != nil {
		closeConn(d.conn)
		d.conn = nil
	}
	if d.check == nil {
		return
	}
	key := d.check.key
	d.check.cancel()
	d.check = nil
	if d.newest() != nil {
		r.startCheck(d, key)
	}
}
