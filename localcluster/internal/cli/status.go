// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

var errDegraded = errors.New("the cluster is degraded")

func newStatus(streams Streams) *cobra.Command {
	var (
		where  target
		output string
	)
	command := &cobra.Command{
		Use:   "status --dir DIR",
		Short: "Say how a cluster is; fails unless all of it is running",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			opened, err := where.open(streams)
			if err != nil {
				return err
			}
			facts, err := opened.Status(command.Context())
			if err != nil {
				return err
			}
			if err := printAs(streams.Out, output, facts, func(out io.Writer) { printFacts(out, facts) }); err != nil {
				return err
			}
			return verdict(facts)
		},
	}
	where.addFlags(command)
	addFormat(command, &output)
	return command
}

func verdict(facts *cluster.Facts) error {
	switch facts.State {
	case cluster.Absent:
		return fmt.Errorf("%s: %w", facts.Dir, state.ErrNone)
	case cluster.Degraded, cluster.Stopped, cluster.Unwell:
		return fmt.Errorf("%w: %s", errDegraded, facts.Problem())
	case cluster.Running:
	}
	return nil
}

func printFacts(out io.Writer, facts *cluster.Facts) {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	defer func() { _ = table.Flush() }()
	line := func(format string, values ...any) { _, _ = fmt.Fprintf(table, format+"\n", values...) }

	line("Directory\t%s\t%s", facts.Dir, facts.State)
	if facts.State == cluster.Absent {
		return
	}
	line("API server\t%s\tKubernetes %s", facts.Server, facts.Version)
	line("Audit log\t%s", facts.AuditLog)
	line("Simulated nodes\t%s", strings.Join(facts.Nodes, " "))
	for _, found := range facts.Components {
		line("%s\t%s\t%s\t%s", found.Name, found.Log, found.State, pid(found.PID))
	}
	for _, pod := range facts.Pods {
		line("pod %s/%s\t%s\t%s\t%s", pod.Namespace, pod.Name, pod.Log, pod.State, pid(pod.PID))
	}
}

func pid(number int) string {
	if number == 0 {
		return ""
	}
	return fmt.Sprintf("process %d", number)
}
