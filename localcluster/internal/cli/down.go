// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

func newDown(streams Streams) *cobra.Command {
	var (
		where  target
		output string
	)
	command := &cobra.Command{
		Use:   "down --dir DIR",
		Short: "End every process of a cluster and remove its files",
		Long: `Ends every process of the cluster in DIR and removes every file that it made,
logs included. Where there is no cluster, there is nothing to do; a directory
with anything else in it is not touched.`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			opened, err := where.open(streams)
			if err != nil {
				return err
			}
			existed, err := opened.Down(command.Context())
			if err != nil {
				return err
			}
			result := struct {
				Dir     string `json:"dir"`
				Existed bool   `json:"existed"`
			}{string(opened.Dir()), existed}
			return printAs(streams.Out, output, result, func(out io.Writer) {
				if !existed {
					_, _ = fmt.Fprintf(out, "there is no cluster in %s\n", result.Dir)
				}
			})
		},
	}
	where.addFlags(command)
	addFormat(command, &output)
	return command
}
