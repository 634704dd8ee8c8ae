// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// settings are the flags that say what cluster there should be.
type settings struct {
	cache   string
	timeout time.Duration

	nodes          int
	nodeNamePrefix string
	nodeCapacity   map[string]string
	featureGates   map[string]string
	runtimeConfig  map[string]string
	auditPolicy    string
	// extraArgs by component.
	extraArgs map[string]*[]string
}

// argFlags name the flags for a component's additional arguments.
var argFlags = map[string]string{
	component.Etcd:              "etcd-arg",
	component.APIServer:         "apiserver-arg",
	component.ControllerManager: "controller-manager-arg",
	component.Scheduler:         "scheduler-arg",
	component.Kwok:              "kwok-arg",
}

func (s *settings) addFlags(command *cobra.Command) {
	defaults := cluster.DefaultConfig()
	flags := command.Flags()
	addCache(command, &s.cache)
	s.addTimeout(command)
	flags.IntVar(&s.nodes, "nodes", defaults.Nodes, "how many simulated nodes; a running cluster can be given more")
	flags.StringVar(&s.nodeNamePrefix, "node-name-prefix", defaults.NodeNamePrefix, "what their names have before the number, which begins at 1")
	flags.StringToStringVar(&s.nodeCapacity, "node-capacity", defaults.NodeCapacity, "what each of them offers")
	flags.StringToStringVar(&s.featureGates, "feature-gates", nil, "feature gates of all components, as Name=true")
	flags.StringToStringVar(&s.runtimeConfig, "runtime-config", nil, "API groups and versions to serve, as group/version=true")
	flags.StringVar(&s.auditPolicy, "audit-policy", "", "a file with an audit policy (default: the metadata of every request)")
	s.extraArgs = map[string]*[]string{}
	for _, name := range component.Names() {
		s.extraArgs[name] = flags.StringArray(argFlags[name], nil, "one more argument for "+name+", as flag=value; may be repeated")
	}
}

func (s *settings) addTimeout(command *cobra.Command) {
	const patience = 3 * time.Minute
	command.Flags().DurationVar(&s.timeout, "timeout", patience,
		"how long the start may take, building aside; it takes about 10s on an idle machine")
}

// request is what the flags ask for. A flag that was not given leaves an
// existing cluster as it is.
func (s *settings) request(command *cobra.Command) (cluster.Request, error) {
	cache, err := cacheDir(s.cache)
	if err != nil {
		return cluster.Request{}, err
	}
	policy, err := s.readPolicy()
	if err != nil {
		return cluster.Request{}, err
	}
	given := command.Flags().Changed
	return cluster.Request{
		Source: localcluster.ControlPlane, Cache: cache, Timeout: s.timeout,
		Configure: func(config *state.Config) {
			setIf(given("nodes"), &config.Nodes, s.nodes)
			setIf(given("node-name-prefix"), &config.NodeNamePrefix, s.nodeNamePrefix)
			setIf(given("node-capacity"), &config.NodeCapacity, s.nodeCapacity)
			setIf(given("feature-gates"), &config.FeatureGates, s.featureGates)
			setIf(given("runtime-config"), &config.RuntimeConfig, s.runtimeConfig)
			setIf(given("audit-policy"), &config.AuditPolicy, policy)
			config.ExtraArgs = s.mergeArgs(config.ExtraArgs, given)
		},
	}, nil
}

func setIf[T any](given bool, field *T, value T) {
	if given {
		*field = value
	}
}

// mergeArgs returns existing with the arguments of each component that was given
// some.
func (s *settings) mergeArgs(existing map[string][]string, given func(string) bool) map[string][]string {
	merged := map[string][]string{}
	maps.Copy(merged, existing)
	for name, args := range s.extraArgs {
		if !given(argFlags[name]) {
			continue
		}
		merged[name] = nil
		for _, arg := range *args {
			merged[name] = append(merged[name], strings.TrimLeft(arg, "-"))
		}
	}
	return merged
}

var errNoPolicy = errors.New("the audit policy is empty")

func (s *settings) readPolicy() (string, error) {
	if s.auditPolicy == "" {
		return "", nil
	}
	content, err := os.ReadFile(s.auditPolicy)
	if err != nil {
		return "", fmt.Errorf("read the audit policy: %w", err)
	}
	if len(strings.TrimSpace(string(content))) == 0 {
		return "", fmt.Errorf("%s: %w", s.auditPolicy, errNoPolicy)
	}
	return string(content), nil
}
