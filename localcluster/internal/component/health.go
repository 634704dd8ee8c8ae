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

	"k8s.io/client-go/rest"
)

// Health has the address at which a component reports its health, and the certificates that a client needs. A
// component with a Socket and no URL is healthy when it listens there.
type Health struct {
	Socket string
	URL    string
	TLS    rest.TLSClientConfig
}

// probeTimeout is generous: a component that starts on a busy machine may answer slowly.
const probeTimeout = 3 * time.Second

var errUnwell = errors.New("is not well")

// Probe returns nil if the component reports that it is healthy.
func (h Health) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if h.URL == "" {
		connection, err := new(net.Dialer).DialContext(ctx, "unix", h.Socket)
		if err != nil {
			return err // names the socket already
		}
		return connection.Close()
	}
	client, err := rest.HTTPClientFor(&rest.Config{TLSClientConfig: h.TLS})
	if err != nil {
		return fmt.Errorf("probe %s: %w", h.URL, err)
	}
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

// failedChecks keeps the lines of a health report with failed checks.
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
