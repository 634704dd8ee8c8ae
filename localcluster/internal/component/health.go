// SPDX-License-Identifier: Apache-2.0

package component

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/kubeapi"
)

// Health says where a component answers that it is well, and with which
// certificate it has to be asked. Without a CAFile it is asked in plain text. One
// with a Socket and no URL is well when somebody listens there.
type Health struct {
	Socket                    string
	URL                       string
	CAFile, CertFile, KeyFile string
}

// probeTimeout is generous: a component that starts on a busy machine may be
// slow to answer and yet be well.
const probeTimeout = 3 * time.Second

var errUnwell = errors.New("is not well")

// Probe returns nil if the component says that it is well.
func (h Health) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if h.URL == "" {
		return h.dial(ctx)
	}
	client := &http.Client{Transport: &http.Transport{}}
	if h.CAFile != "" {
		var err error
		if client, err = kubeapi.HTTPClient(h.CAFile, h.CertFile, h.KeyFile); err != nil {
			return err
		}
	}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, h.URL, nil)
	if err != nil {
		return fmt.Errorf("probe %s: %w", h.URL, err)
	}
	response, err := client.Do(request)
	if err != nil {
		return err // names the URL already
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		const enough = 4 << 10
		body, _ := io.ReadAll(io.LimitReader(response.Body, enough))
		return fmt.Errorf("%s %w: %s: %s", h.URL, errUnwell, response.Status, failedChecks(string(body)))
	}
	return nil
}

func (h Health) dial(ctx context.Context) error {
	connection, err := new(net.Dialer).DialContext(ctx, "unix", h.Socket)
	if err != nil {
		return err // names the socket already
	}
	return connection.Close()
}

// failedChecks keeps the lines of a health report that say what is wrong.
func failedChecks(report string) string {
	var failed []string
	for line := range strings.Lines(report) {
		if strings.HasPrefix(line, "[-]") {
			failed = append(failed, strings.TrimSpace(line))
		}
	}
	if len(failed) == 0 {
		return strings.TrimSpace(report)
	}
	return strings.Join(failed, "; ")
}
