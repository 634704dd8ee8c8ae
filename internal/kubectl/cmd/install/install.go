// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"

	"github.com/slipway-k8s/slipway/config"
	draindriver "github.com/slipway-k8s/slipway/internal/drainer/driver"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/installer"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// installTimeout is how long rollouts may take, unless told otherwise.
const installTimeout = 5 * time.Minute

// install is one installation, or upgrade.
type install struct {
	*cli.Tool

	choice        release.Choice
	drains        draindriver.Settings
	mode, dryRun  string
	yes, wait     bool
	leasesChosen  bool
	force         bool
	timeout       time.Duration
	output        *cli.Output
	on            *installer.Cluster
	server        release.Server
	whatIsApplied release.Release
	// leftovers are of another variant, and go.
	leftovers []installer.Item
}

func newInstall(t *cli.Tool) *cobra.Command {
	i := install{Tool: t}
	command := &cobra.Command{
		Use:   "install",
		Short: "Install Slipway, or upgrade it",
		Long: `Shows what would be created and changed on the cluster, asks, and applies it: the kinds of
Slipway, its permissions and admission policies, the controller and the agents, and the drain
driver's transitions, as they are in config/ of this version. Then it waits until all of it
works. Permissions of another variant, such as those of --reduced, are deleted when they are not
needed any more, and so is what --host has added, without it; nothing else is. You can call it
again at any time.

The API group is found out: lifecycle.k8s.io, or slm.slipway.dev where the server serves
that group itself. Without --yes and without a terminal, nothing is applied.`,
		Example: `  # On a cluster of one's own, after a look at what it does:
  kubectl slipway install

  # With machines that wait for their drains when they are rebooted or powered off:
  kubectl slipway install --host

  # In a script, with an image of one's own:
  kubectl slipway install --yes --image=registry.example.com/slipway:0.1.0

  # For git:
  kubectl slipway install -o yaml > slipway.yaml`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			i.leasesChosen = command.Flags().Changed("node-leases")
			return i.run(command.Context())
		},
	}
	i.addFlags(command.Flags())
	return command
}

func (i *install) addFlags(flags *pflag.FlagSet) {
	i.output = cli.AddOutput(flags, cli.JSON, cli.YAML, cli.Name)
	flags.StringVar(&i.mode, "mode", string(release.Node), "place of the drain driver: node (with an agent on each node) or central (with the controller, for all nodes)")
	flags.BoolVar(&i.choice.Reduced, "reduced", false,
		"give the agents weaker permissions, for servers without constrained impersonation: a stolen token of an agent can evict all pods")
	flags.BoolVar(&i.choice.EvictionRequests, "eviction-requests", false,
		"act on EvictionRequests, too, for pods that must not be evicted blindly: a stolen token of the controller can then evict all pods")
	flags.BoolVar(&i.choice.NodeLeases, "node-leases", false,
		"acquire the lease of each node that Slipway works on (namespace kube-node-maintenance), and wait for the leases of other holders; "+
			"by default, a new installation on Kubernetes 1.36 or newer does this, and an existing one stays as it is")
	flags.BoolVar(&i.choice.MaintenanceJobs, "maintenance-jobs", false,
		"let maintenances run Jobs on drained nodes, in namespace slipway-system-jobs, from PodTemplates that administrators create there ("+
			reasons.Docs+"docs/how-to/maintain-a-fleet.md)")
	flags.BoolVar(&i.choice.Host, "host", false,
		"run slipway-host on each machine: a shutdown or reboot of one waits until its node is drained, as far as logind lets it ("+reasons.Docs+"docs/how-to/shutdown.md)")
	flags.Int64Var(&i.choice.HostUser, "host-user", release.HostUser,
		"with --host: the user that slipway-host runs as; 0 where the machines have no polkit, and logind gives locks to root alone")
	flags.BoolVar(&i.choice.ThirdPartyDrivers, "third-party-drivers", false,
		"let drivers of other pods register with the agents, over sockets in /var/lib/slipway of each machine: the agents then run as root, without capabilities")
	flags.BoolVar(&i.choice.SeparateDrain, "separate-drain-driver", false,
		"let the agents drain with the drain driver in separate pods ("+reasons.Docs+"deploy), instead of the built-in one; implies --third-party-drivers")
	i.drains.AddFlags(flags)
	flags.StringVar(&i.choice.Image, "image", "", "image of controller and agents (default: that of this version)")
	flags.StringVar(&i.dryRun, "dry-run", "none", "client: say what would be applied; server: let the server check it, too, and change nothing")
	flags.BoolVarP(&i.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&i.force, "force-conflicts", false, "change also fields that other managers have set since")
	flags.BoolVar(&i.wait, "wait", true, "wait until all of it works")
	flags.DurationVar(&i.timeout, "timeout", installTimeout, "how long to wait; 0: without limit")
}

func (i *install) run(ctx context.Context) error {
	if err := i.check(); err != nil {
		return err
	}
	style := i.Outlast()
	if err := i.prepare(ctx); err != nil {
		return err
	}
	if i.output.Format != cli.Human {
		return showObjects(i.Tool, i.output, i.whatIsApplied.All())
	}
	if i.dryRun == "client" {
		return printPlan(i.Out, style, planOf(i.headline(), unchecked(i.whatIsApplied)))
	}
	items, err := i.preview(ctx)
	if err != nil {
		return err
	}
	plan := planOf(i.headline(), append(items, i.leftovers...))
	if err := printPlan(i.Out, style, plan); err != nil || i.dryRun == "server" {
		return err
	}
	if plan.conflicts() && !i.force {
		return fmt.Errorf("other managers have set some of these fields since: --force-conflicts takes them over")
	}
	if plan.changes() {
		if err := i.Confirm(i.yes, "Apply this?"); err != nil {
			return err
		}
		if err := i.apply(ctx); err != nil {
			return err
		}
	}
	return i.await(ctx)
}

// check looks at the flags alone.
func (i *install) check() error {
	i.choice.Mode = release.Mode(i.mode)
	if i.choice.Mode != release.Node && i.choice.Mode != release.Central {
		return cli.Usagef("there is no --mode=%s; there is: node, central", i.mode)
	}
	if i.choice.HostUser != release.HostUser && !i.choice.Host {
		return cli.Usagef("--host-user is about slipway-host: it needs --host")
	}
	if i.choice.Mode == release.Central && (i.choice.ThirdPartyDrivers || i.choice.SeparateDrain) {
		return cli.Usagef("--third-party-drivers and --separate-drain-driver are about agents: they need --mode=node")
	}
	if err := i.drains.Validate(); err != nil {
		return cli.Usagef("%v", err)
	}
	i.choice.Drain = map[string]string{
		release.DriverName: i.drains.DriverName, release.SLA: i.drains.SLA.String(),
		"eviction-timeout": i.drains.EvictionTimeout.String(), "grace-period": strconv.FormatInt(i.drains.GracePeriodSeconds, 10),
	}
	if i.choice.HostUser < 0 {
		return cli.Usagef("--host-user=%d is no user: use 0 or greater", i.choice.HostUser)
	}
	if i.dryRun != "none" && i.dryRun != "client" && i.dryRun != "server" {
		return cli.Usagef("there is no --dry-run=%s; there is: none, client, server", i.dryRun)
	}
	return nil
}

// prepare finds out what is to be applied on this cluster.
func (i *install) prepare(ctx context.Context) error {
	var err error
	if i.on, err = openInstaller(i.Tool); err != nil {
		return err
	}
	if i.server, err = i.on.Server(); err != nil {
		return err
	}
	if err := i.server.Refuse(i.choice); err != nil {
		return err
	}
	i.choice.Mutates = i.server.Mutates
	if err := i.chooseLeases(ctx); err != nil {
		return err
	}
	if i.choice.NodeLeases && !i.choice.Mutates {
		return fmt.Errorf("--node-leases needs MutatingAdmissionPolicies, which hold back what is new: Kubernetes 1.36 or newer; the server is %s", i.server.Version)
	}
	if i.choice.Group, err = i.on.Group(); err != nil {
		return err
	}
	if i.choice.EvictionRequests {
		if i.choice.KubernetesEvicts, err = i.on.KubernetesEvicts(ctx); err != nil {
			return err
		}
	}
	i.whatIsApplied, err = release.New(config.Files, i.choice)
	return err
}

// chooseLeases applies the default of --node-leases: an update alone must not make an installation wait for the leases of other
// tools.
func (i *install) chooseLeases(ctx context.Context) error {
	if i.leasesChosen {
		return nil
	}
	found, err := i.on.Installed(ctx)
	if apierrors.IsForbidden(err) {
		i.Notef("You may not read the installation, so --node-leases is false by default: %v.", err)
		return nil
	}
	if err != nil {
		return err
	}
	i.choice.NodeLeases = i.choice.Mutates && !slices.ContainsFunc(found, func(there release.Installed) bool { return !there.NodeLeases })
	return nil
}

// preview asks the server, once it is clear that the caller may install, and that the drain
// driver would not be in two places.
func (i *install) preview(ctx context.Context) ([]installer.Item, error) {
	missing, err := i.on.Missing(ctx, i.whatIsApplied.All(), "get", "create", "patch")
	if err != nil {
		return nil, err
	}
	if err := installer.MissingError("install", missing); err != nil {
		return nil, err
	}
	found, err := i.on.Installed(ctx)
	if err != nil {
		return nil, err
	}
	for _, there := range found {
		if err := there.Elsewhere(); err != nil {
			return nil, err
		}
		if err := there.Refuse(i.choice.Mode); err != nil {
			return nil, err
		}
	}
	if err := i.findLeftovers(ctx); err != nil {
		return nil, err
	}
	away, err := i.on.StaticPodsAway(ctx)
	if err != nil {
		return nil, err
	}
	if err := refuseAway(away); err != nil {
		return nil, err
	}
	return i.on.Preview(ctx, i.whatIsApplied)
}

// refuseAway says why slipway-host can neither go nor be replaced by that of plain manifests, which
// knows nothing of static pods: those that are away would never come back.
func refuseAway(away []installer.Node) error {
	if len(away) == 0 {
		return nil
	}
	var nodes []string
	for _, n := range away {
		nodes = append(nodes, "static pods of node "+n.Name+" are away: "+strings.Join(n.Away, ", "))
	}
	return fmt.Errorf("nothing was applied: %s. Nobody would put them back: return the nodes ('kubectl slipway uncordon NODE'). "+
		"Where slipway-host does not work any more, %s, and 'kubectl annotate node NODE %s-'", strings.Join(nodes, "; "), installer.ByHand, staticpod.HostAnnotation)
}

// findLeftovers finds what is to go, and whether the caller may delete it.
func (i *install) findLeftovers(ctx context.Context) error {
	others, err := release.Leftovers(config.Files, i.whatIsApplied)
	if err != nil {
		return err
	}
	if i.leftovers, err = i.on.Leftovers(ctx, others); err != nil {
		return err
	}
	var objects []*unstructured.Unstructured
	for _, item := range i.leftovers {
		objects = append(objects, item.Object)
	}
	missing, err := i.on.Missing(ctx, objects, "delete", "list", "watch")
	if err != nil {
		return err
	}
	if i.hostGoes() {
		more, err := i.on.MissingForHosts(ctx)
		if err != nil {
			return err
		}
		missing = append(missing, more...)
	}
	return installer.MissingError("install", missing)
}

// hostGoes says whether slipway-host is among what goes.
func (i *install) hostGoes() bool {
	return slices.ContainsFunc(i.leftovers, func(item installer.Item) bool {
		return item.Object.GetKind() == "DaemonSet" && item.Object.GetName() == release.Hosts
	})
}

func (i *install) apply(ctx context.Context) error {
	return i.on.Apply(ctx, i.whatIsApplied, i.force, func(o *unstructured.Unstructured) {
		fmt.Fprintf(i.Out, "applied %s\n", release.RefOf(o))
	})
}

// await waits until it works. What is left of another variant goes last, because the agents
// that are being replaced need it; with --wait=false it goes at once.
func (i *install) await(ctx context.Context) error {
	patient, cancel := cli.Within(ctx, i.timeout)
	defer cancel()
	tell := func(what string) { i.Sayf("%s", what+"\n") }
	var err error
	if i.wait {
		err = i.on.AwaitReady(patient, i.whatIsApplied, i.choice.Group, func(what string) { tell("waiting for " + what) })
	}
	if err == nil {
		err = i.on.Delete(patient, i.leftovers, tell)
	}
	if err == nil && i.hostGoes() {
		err = i.on.ForgetHosts(patient)
	}
	if err != nil && patient.Err() != nil && ctx.Err() == nil {
		return cli.Exitf(cli.TimedOut, "after %s, it does not work yet: %w", i.timeout, err)
	}
	if err != nil {
		return err
	}
	if !i.wait {
		tell("\nApplied, without a check whether it works: see 'kubectl slipway version' and 'kubectl slipway drivers'.")
		return nil
	}
	fmt.Fprint(i.Out, nextSteps)
	return nil
}

const nextSteps = `
Slipway works. Next:

  kubectl slipway drivers          what is registered on which node
  kubectl slipway drain NODE       take a node out of service
  kubectl slipway uncordon NODE    put it back
  kubectl create clusterrolebinding oncall-drains --clusterrole=slipway-operator --group=oncall
`

func (i *install) headline() string {
	mode := "an agent on each node works"
	switch {
	case i.choice.Mode == release.Central:
		mode = "the controller works for all nodes (central mode)"
	case i.choice.Reduced:
		mode = "an agent on each node works, with the reduced variant's permissions: a stolen token of an agent can evict all pods"
	}
	text := fmt.Sprintf("Slipway for Kubernetes %s: %s; LifecycleEvents are in %s.", i.server.Version, mode, i.choice.Group)
	if i.choice.Host {
		text += " slipway-host on each machine holds a shutdown of it until its node is drained, for as long as its logind lets it " +
			"(InhibitDelayMaxSec: 5 s, unless you have set it)."
	}
	if image := i.whatIsApplied.Image(); i.choice.Image == "" && image != "" && !strings.Contains(image, "@") {
		text += fmt.Sprintf(" This kubectl slipway is not from a release, and image %s may not exist: use --image for your own.", image)
	}
	if !i.choice.Mutates {
		text += " This server has no MutatingAdmissionPolicies: nothing sets the requester of events, and there are no guards."
	}
	return text
}

// installer is the cluster of the flags.
func openInstaller(t *cli.Tool) (*installer.Cluster, error) {
	restConfig, err := t.Flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	restConfig.QPS, restConfig.Burst = 50, 100
	restConfig.UserAgent = installer.FieldManager
	client, err := rest.HTTPClientFor(restConfig)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	return installer.New(restConfig, client)
}
