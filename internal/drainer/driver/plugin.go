// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/driverkit"
	drainparameters "github.com/slipway-k8s/slipway/internal/drainer/parameters"
	"github.com/slipway-k8s/slipway/internal/drainer/responders"
	drainrules "github.com/slipway-k8s/slipway/internal/drainer/rules"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/internal/platform/serverclock"
)

const (
	// DefaultDriverName is the name of the driver and of Slipway's drain transition; the
	// transition back has the suffix returnSuffix.
	DefaultDriverName = "drain.slm.k8s.io"
	returnSuffix      = "-uncordon"
	// shutdownSuffix marks the drain before the shutdown of the node's machine.
	shutdownSuffix = "-shutdown"
	// DefaultNamespace is Slipway's own.
	DefaultNamespace = "slipway-system"
	// DefaultSLA limits a drain, unless the event sets another limit.
	DefaultSLA = 5 * time.Minute
	// DefaultEvictionTimeout limits one eviction request.
	DefaultEvictionTimeout = 30 * time.Second
)

// The states of the two transitions (KEP-5683).
const (
	DrainStarted        = "drain-started"
	DrainComplete       = lifecyclev1alpha1.StateDrainComplete
	Uncordoning         = "uncordoning"
	MaintenanceComplete = lifecyclev1alpha1.StateMaintenanceComplete
	// States of the drain before a shutdown.
	Draining     = shutdown.StateDraining
	ShuttingDown = shutdown.StateShuttingDown
)

// Settings are the properties of a drain driver that an administrator may change.
type Settings struct {
	DriverName string
	// SLA of the transitions when they are published.
	SLA             time.Duration
	EvictionTimeout time.Duration
	// GracePeriodSeconds overrides that of all pods; -1: the pods' own.
	GracePeriodSeconds int64
}

// DefaultSettings returns the settings of an installation that changes none.
func DefaultSettings() Settings {
	return Settings{DriverName: DefaultDriverName, SLA: DefaultSLA, EvictionTimeout: DefaultEvictionTimeout, GracePeriodSeconds: -1}
}

// AddFlags adds the flags, with their defaults.
func (s *Settings) AddFlags(flags *pflag.FlagSet) {
	*s = DefaultSettings()
	flags.StringVar(&s.DriverName, "driver-name", s.DriverName, "name of the drain driver, which its transitions have in spec.driver")
	flags.DurationVar(&s.SLA, "sla", s.SLA, "time limit for a drain, and for a return, in the transitions of the drain driver")
	flags.DurationVar(&s.EvictionTimeout, "eviction-timeout", s.EvictionTimeout, "time limit for one eviction request of the drain driver")
	flags.Int64Var(&s.GracePeriodSeconds, "grace-period", s.GracePeriodSeconds, "grace period in seconds of each pod that the drain driver evicts, at least 1; -1: the pod's own")
}

// Validate reports all errors, with the names of the flags.
func (s Settings) Validate() error {
	var errs []error
	if err := (&driverkit.Config{DriverName: s.DriverName, AnyNode: true}).Validate(); err != nil {
		errs = append(errs, fmt.Errorf("--driver-name: %w", err))
	}
	if s.SLA <= 0 {
		errs = append(errs, fmt.Errorf("--sla %s must be greater than 0", s.SLA))
	}
	if s.EvictionTimeout <= 0 {
		errs = append(errs, fmt.Errorf("--eviction-timeout %s must be greater than 0", s.EvictionTimeout))
	}
	switch {
	case s.GracePeriodSeconds == 0:
		errs = append(errs, errors.New("--grace-period 0 would need an API server that keeps a pod until its containers have ended: with 0, "+
			"it deletes the pod before, and the drain could not detect an empty node; 1 is the shortest, and -1 means the pods' own"))
	case s.GracePeriodSeconds < -1:
		errs = append(errs, fmt.Errorf("--grace-period %d must be -1 (the pods' own), or 1 or more", s.GracePeriodSeconds))
	}
	return errors.Join(errs...)
}

// Options are the settings of a drain driver, and its place.
type Options struct {
	Settings

	NodeName string
	// BuiltIn: the driver is part of Slipway's agent or controller. It then publishes Slipway's own transitions, instead
	// of transitions that are named after the driver.
	BuiltIn bool
	// AnyNode: the driver serves all nodes, as the process itself. NodeName is then empty.
	AnyNode bool
	// AsNode are the credentials for the Node and its pods. Nil: the credentials of the
	// process.
	AsNode *rest.Config
	// Namespace is Slipway's own: the rules of the cluster are in it, and its pods leave
	// last.
	Namespace string
	// Listener is of a driver in the process of its agent. Nil: the driver has sockets in DataDir and RegistrationDir.
	Listener                 net.Listener
	DataDir, RegistrationDir string
	// Instance tells two processes of the driver apart while it is being updated.
	Instance string
	// Observer counts evictions and refusals. It may be nil.
	Observer drain.Observer
}

// Validate reports all that is wrong, by the names of the flags.
func (o Options) Validate() error {
	var errs []error
	if o.NodeName == "" && !o.AnyNode {
		errs = append(errs, errors.New("--node-name is required"))
	}
	if o.Namespace == "" {
		errs = append(errs, errors.New("--namespace must not be empty"))
	}
	return errors.Join(append(errs, o.Settings.Validate())...)
}

// Probe fails if the driver that is served with these options does not answer.
func (o Options) Probe(ctx context.Context) error { return driverkit.Probe(ctx, o.kit()) }

func (o Options) kit() driverkit.Config {
	return driverkit.Config{
		DriverName: o.DriverName, NodeName: o.NodeName, AnyNode: o.AnyNode, Instance: o.Instance,
		Listener: o.Listener, DataDir: o.DataDir, RegistrationDir: o.RegistrationDir,
	}
}

// Serve runs the drain driver until ctx ends.
func Serve(ctx context.Context, self *rest.Config, options Options) error {
	if err := options.Validate(); err != nil {
		return err
	}
	plugin, err := newPlugin(ctx, self, options)
	if err != nil {
		return err
	}
	config := options.kit()
	config.Transitions, config.RESTConfig = transitions(options.publishes(), options.DriverName, options.SLA), self
	serves := map[string]driverkit.Driver{}
	drains, returns := driverkit.Background(plugin.drain), driverkit.Background(plugin.returnNode)
	for _, name := range []string{options.publishes(), DefaultDriverName} {
		serves[name], serves[name+shutdownSuffix], serves[name+returnSuffix] = drains, drains, returns
	}
	return driverkit.Serve(ctx, config, cordonFirst{driverkit.ByTransition(serves)})
}

// publishes returns the name of the drain transition that the driver publishes.
func (o Options) publishes() string {
	if o.BuiltIn {
		return DefaultDriverName
	}
	return transitionName(o.DriverName)
}

// transitionName names a drain transition after its driver: names of API objects have neither slashes nor underscores.
func transitionName(driver string) string {
	return strings.NewReplacer("/", ".", "_", "-").Replace(driver)
}

// ShutdownTransition returns the transition of a node whose machine is being shut down. The driver does not publish it: an
// administrator applies it. Its events define their limit of time.
func ShutdownTransition() lifecyclev1alpha1.LifecycleTransition {
	return transition(DefaultDriverName+shutdownSuffix, DefaultDriverName, Draining, ShuttingDown, nil)
}

// Transitions returns the two that a driver publishes that is not built in: the drain, and the return.
func Transitions(driver string, sla time.Duration) []lifecyclev1alpha1.LifecycleTransition {
	return transitions(transitionName(driver), driver, sla)
}

func transitions(name, driver string, sla time.Duration) []lifecyclev1alpha1.LifecycleTransition {
	return []lifecyclev1alpha1.LifecycleTransition{
		transition(name, driver, DrainStarted, DrainComplete, &metav1.Duration{Duration: sla}),
		transition(name+returnSuffix, driver, Uncordoning, MaintenanceComplete, &metav1.Duration{Duration: sla}),
	}
}

func transition(name, driver, start, end string, sla *metav1.Duration) lifecyclev1alpha1.LifecycleTransition {
	return lifecyclev1alpha1.LifecycleTransition{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: lifecyclev1alpha1.LifecycleTransitionSpec{
			Start: start, End: end, Driver: driver, AllNodes: new(true), SLA: sla,
		},
	}
}

// plugin drains and returns one node, or all nodes, which then share the budgets' queues.
type plugin struct {
	options Options
	nodes   corev1client.NodeInterface
	drainer *drain.Drainer
}

// node is the writer of the node that a call is about.
func (p *plugin) node(name string) *nodestate.Writer {
	return nodestate.NewWriter(p.nodes, name, clock.RealClock{})
}

func newPlugin(ctx context.Context, self *rest.Config, options Options) (*plugin, error) {
	asNode := cmp.Or(options.AsNode, self)
	judged := serverclock.New(clock.RealClock{}, klog.FromContext(ctx))
	nodeClient, err := kubernetes.NewForConfig(judged.Seen(asNode))
	if err != nil {
		return nil, fmt.Errorf("build the node's client: %w", err)
	}
	selfClient, err := kubernetes.NewForConfig(self)
	if err != nil {
		return nil, fmt.Errorf("build the driver's client: %w", err)
	}
	rules, err := drainrules.New(self, options.Namespace)
	if err != nil {
		return nil, err
	}
	answers, err := responders.New(self, clock.RealClock{})
	if err != nil {
		return nil, err
	}
	var evicted sync.Once
	drainer, err := drain.New(drain.Config{
		Pods: nodeClient.CoreV1(), Budgets: selfClient.PolicyV1(), EvictionTimeout: options.EvictionTimeout,
		ServerClock: judged, Rules: rules, Responders: answers, OwnNamespace: options.Namespace, StaticPods: drainparameters.StaticPods,
		Shutdown: options.shutdown, Observer: options.Observer,
		OnEvicted: func(types.NamespacedName) { evicted.Do(func() { faultpoint.Reach(faultpoint.Evicting) }) },
	})
	if err != nil {
		return nil, err
	}
	return &plugin{options: options, drainer: drainer, nodes: nodeClient.CoreV1().Nodes()}, nil
}

// shutdown returns the time of a shutdown of the node's machine. Its beginning is by the machine's clock: zero in a process that
// serves all nodes.
func (o Options) shutdown(node *corev1.Node) (since time.Time, length time.Duration) {
	since, length = shutdown.TimeOn(node)
	if o.AnyNode {
		since = time.Time{}
	}
	return since, length
}
