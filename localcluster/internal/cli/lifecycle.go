// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// settings are the flags that describe the cluster to start.
type settings struct {
	cache   string
	timeout time.Duration

	nodes         int
	nodeCapacity  map[string]string
	featureGates  map[string]string
	runtimeConfig map[string]string
	auditPolicy   string
	kubernetes    string
	// extraArgs by component.
	extraArgs map[string]*[]string
}

func argFlag(component string) string { return strings.TrimPrefix(component, "kube-") + "-arg" }

func addTimeout(command *cobra.Command, timeout *time.Duration) {
	const patience = 3 * time.Minute
	command.Flags().DurationVar(timeout, "timeout", patience, "how long the start may take, without building; it takes about 10s on an idle machine")
}

func addSettings(command *cobra.Command) *settings {
	s := &settings{extraArgs: map[string]*[]string{}}
	flags := command.Flags()
	addCache(command, &s.cache)
	addKubernetes(command, &s.kubernetes)
	addTimeout(command, &s.timeout)
	flags.IntVar(&s.nodes, "nodes", cluster.DefaultConfig().Nodes, "how many simulated nodes: worker-1 and so on; a running cluster can be given more")
	flags.StringToStringVar(&s.nodeCapacity, "node-capacity", cluster.DefaultConfig().NodeCapacity, "the capacity of each simulated node")
	flags.StringToStringVar(&s.featureGates, "feature-gates", nil, "feature gates of all components, as Name=true")
	flags.StringToStringVar(&s.runtimeConfig, "runtime-config", nil, "API groups and versions to serve, as group/version=true")
	flags.StringVar(&s.auditPolicy, "audit-policy", "", "a file with an audit policy (default: the metadata of every request)")
	for _, name := range component.Names() {
		s.extraArgs[name] = flags.StringArray(argFlag(name), nil, "one more argument for "+name+", as flag=value; may be repeated")
	}
	return s
}

var errNoPolicy = errors.New("the audit policy is empty")

// request returns the request of the flags. It keeps a setting of an existing cluster whose flag is not given.
func (s *settings) request(command *cobra.Command) (cluster.Request, error) {
	given := command.Flags().Changed
	var policy []byte
	if given("audit-policy") {
		var err error
		if policy, err = os.ReadFile(s.auditPolicy); err != nil {
			return cluster.Request{}, fmt.Errorf("read the audit policy: %w", err)
		}
		if len(strings.TrimSpace(string(policy))) == 0 {
			return cluster.Request{}, fmt.Errorf("%s: %w", s.auditPolicy, errNoPolicy)
		}
	}
	return cluster.Request{
		Cache: s.cache, Timeout: s.timeout,
		Configure: func(config *state.Config) {
			setIf(given("nodes"), &config.Nodes, s.nodes)
			setIf(given("node-capacity"), &config.NodeCapacity, s.nodeCapacity)
			setIf(given("feature-gates"), &config.FeatureGates, s.featureGates)
			setIf(given("runtime-config"), &config.RuntimeConfig, s.runtimeConfig)
			setIf(given("audit-policy"), &config.AuditPolicy, string(policy))
			setIf(given("kubernetes") || config.Kubernetes == "", &config.Kubernetes, s.kubernetes)
			merged := map[string][]string{}
			maps.Copy(merged, config.ExtraArgs)
			for name, args := range s.extraArgs {
				if given(argFlag(name)) {
					merged[name] = nil
				}
				for _, arg := range *args {
					merged[name] = append(merged[name], strings.TrimLeft(arg, "-"))
				}
			}
			config.ExtraArgs = merged
		},
	}, nil
}

func setIf[T any](given bool, field *T, value T) {
	if given {
		*field = value
	}
}

func newUp(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "up --dir DIR",
		Short: "Start a cluster, or its missing parts, and return when it is ready",
		Long: `Starts the cluster in DIR and returns when it is ready: API server,
controller-manager, scheduler and kwok report that they are healthy, all nodes are
ready, and pods can be created.

For a cluster that runs, it only reports; where components are missing, it starts
them. Settings that are not given stay; settings of the control plane cannot
change while it runs.

etcd runs with --unsafe-no-fsync: its data survives the end of every process, but
not a power failure.`,
		Args: cobra.NoArgs,
	}
	what, format := addSettings(command), addOutput(command)
	return on(streams, command, func(command *cobra.Command, opened *cluster.Cluster, _ []string) error {
		request, err := what.request(command)
		if err != nil {
			return err
		}
		facts, err := opened.Up(command.Context(), request)
		if err != nil {
			return err
		}
		return format.write(streams.Out, facts, func(out io.Writer) {
			printFacts(out, facts)
			_, _ = fmt.Fprintf(out, "\nexport KUBECONFIG=%s\n", facts.Kubeconfig)
		})
	})
}

func newDown(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "down --dir DIR",
		Short: "End every process of a cluster and remove its files",
		Long: `Ends every process of the cluster in DIR and removes every file that it made,
logs included. Where there is no cluster, it does nothing; it does not touch a
directory with anything else in it.`,
		Args: cobra.NoArgs,
	}
	return on(streams, command, func(command *cobra.Command, opened *cluster.Cluster, _ []string) error {
		existed, err := opened.Down(command.Context(), "")
		if err == nil && !existed {
			_, err = fmt.Fprintf(streams.Out, "there is no cluster in %s\n", opened.Dir())
		}
		return err
	})
}

var errDegraded = errors.New("the cluster is degraded")

func newStatus(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "status --dir DIR",
		Short: "Report the condition of a cluster; fails unless all components are running",
		Args:  cobra.NoArgs,
	}
	format := addOutput(command)
	return on(streams, command, func(command *cobra.Command, opened *cluster.Cluster, _ []string) error {
		facts, err := opened.Status(command.Context())
		if err != nil {
			return err
		}
		if err := format.write(streams.Out, facts, func(out io.Writer) { printFacts(out, facts) }); err != nil {
			return err
		}
		switch facts.State {
		case cluster.Absent:
			return fmt.Errorf("%s: %w", facts.Dir, state.ErrNone)
		case cluster.Degraded, cluster.Stopped, cluster.Unwell:
			return fmt.Errorf("%w: %s", errDegraded, facts.Problem())
		case cluster.Running:
		}
		return nil
	})
}

func printFacts(out io.Writer, facts *cluster.Facts) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer func() { _ = table.Flush() }()
	row := func(format string, values ...any) { _, _ = fmt.Fprintf(table, format+"\n", values...) }

	row("Directory\t%s\t%s", facts.Dir, facts.State)
	if facts.State == cluster.Absent {
		return
	}
	row("API server\t%s\tKubernetes %s", facts.Server, facts.Version)
	row("Audit log\t%s", facts.AuditLog)
	row("Simulated nodes\t%s", strings.Join(facts.Nodes, " "))
	for _, found := range facts.Components {
		row("%s\t%s\t%s\t%s", found.Name, found.Log, found.State, pid(found.PID))
	}
	for _, pod := range facts.Pods {
		row("pod %s/%s\t%s\t%s\t%s", pod.Namespace, pod.Name, pod.Log, pod.State, pid(pod.PID))
	}
}

func pid(number int) string {
	if number == 0 {
		return ""
	}
	return fmt.Sprintf("process %d", number)
}

var errAlreadyRuns = errors.New("a cluster runs here already, which another user may need; 'localcluster down' removes it")

func newRun(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:   "run --dir DIR",
		Short: "Start a cluster, hold it until standard input closes, and remove it",
		Long: `Starts a cluster in DIR, prints its facts as one line of JSON on standard output
when it is ready, and takes it down when standard input closes or a signal
(SIGINT, SIGTERM) arrives.

A test suite starts this with a pipe for standard input and reads one line. When
the suite ends, however it ends, the pipe closes and the cluster goes. Even when
this very process is killed, a guard takes the cluster down.`,
		Example: `  localcluster run --dir /tmp/c < some-fifo | jq -r .kubeconfig`,
		Args:    cobra.NoArgs,
	}
	what := addSettings(command)
	return on(streams, command, func(command *cobra.Command, opened *cluster.Cluster, _ []string) error {
		request, err := what.request(command)
		if err != nil {
			return err
		}
		if err := clearRemains(command.Context(), opened); err != nil {
			return err
		}
		request.ID = cluster.NewID()
		guard, err := startGuard(command, opened, request.ID, streams)
		if err != nil {
			return err
		}
		return errors.Join(hold(command.Context(), opened, request, streams), guard.takeDown())
	})
}

// hold starts the cluster, prints its facts, and returns when standard input closes. It listens
// from the beginning: a suite that gives up while the cluster starts does not have to wait.
func hold(ctx context.Context, opened *cluster.Cluster, request cluster.Request, streams Streams) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, streams.In)
		stop()
	}()
	facts, err := opened.Up(ctx, request)
	if err != nil {
		return err
	}
	format := line
	if err := format.write(streams.Out, facts, nil); err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// clearRemains removes what an earlier run may have left, but no cluster that runs.
func clearRemains(ctx context.Context, opened *cluster.Cluster) error {
	facts, err := opened.Status(ctx)
	if err != nil || facts.State == cluster.Absent {
		return err
	}
	for _, found := range facts.Components {
		if found.State != cluster.Stopped {
			return fmt.Errorf("%s: %w", facts.Dir, errAlreadyRuns)
		}
	}
	_, err = opened.Down(ctx, "")
	return err
}

// guard is a process that takes the cluster down when its standard input closes. The kernel
// closes it even if this process is killed.
type guard struct {
	command *exec.Cmd
	hold    io.Closer
}

func startGuard(run *cobra.Command, opened *cluster.Cluster, id string, streams Streams) (*guard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the launcher itself: %w", err)
	}
	quiet := "--quiet=" + run.Flag("quiet").Value.String()
	command := exec.Command(self, "guard", "--dir", string(opened.Dir()), "--id", id, quiet) //nolint:noctx // it has to outlive this process
	command.Stderr = streams.Err
	// It gets a separate session: Ctrl-C is for this process, which then signals the guard.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	input, err := command.StdinPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	return &guard{command: command, hold: input}, nil
}

// takeDown returns when the guard has taken the cluster down.
func (g *guard) takeDown() error {
	if err := errors.Join(g.hold.Close(), g.command.Wait()); err != nil {
		return fmt.Errorf("take the cluster down: %w", err)
	}
	return nil
}

// newGuard is the guard's own side.
func newGuard(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:    "guard --dir DIR",
		Short:  "Take a cluster down when standard input closes",
		Hidden: true,
		Args:   cobra.NoArgs,
	}
	id := command.Flags().String("id", "", "the identity of the cluster, which alone is taken down")
	return on(streams, command, func(_ *cobra.Command, opened *cluster.Cluster, _ []string) error {
		_, _ = io.Copy(io.Discard, streams.In)
		// A signal that ended the launcher does not cancel the guard's work.
		_, err := opened.Down(context.Background(), *id)
		return err
	})
}
