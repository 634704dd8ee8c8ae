// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/slipway-k8s/slipway/bench/drain/internal/report"
	"github.com/slipway-k8s/slipway/bench/internal/page"
)

// show prints the table, and writes what the flags ask for.
func show(s settings, results report.Results, out, progress io.Writer) error {
	if _, err := io.WriteString(out, report.Table(results)); err != nil {
		return err
	}
	var errs []error
	if s.chart != "" {
		errs = append(errs, os.WriteFile(s.chart, []byte(report.Chart(results)), 0o644))
	}
	if s.readme != "" {
		err := page.Insert(s.readme, "bench", report.Markdown(results))
		if errors.Is(err, page.ErrNoMarkers) || errors.Is(err, os.ErrNotExist) {
			fmt.Fprintln(progress, "drain: no table was written:", err)
			err = nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
