// SPDX-License-Identifier: Apache-2.0

// Package kubeapi is the little of a Kubernetes client that the launcher needs:
// JSON over HTTPS. The official client would be most of what this program
// consists of, and would have to be compiled before anything can start.
package kubeapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// userAgent makes the launcher's own requests easy to tell in an audit log.
const userAgent = "localcluster"

var errNoCertificate = errors.New("no certificate in the file")

// HTTPClient returns a client that trusts the authority in caFile and, when
// they are given, presents a certificate.
func HTTPClient(caFile, certFile, keyFile string) (*http.Client, error) {
	authority, err := os.ReadFile(caFile)
	if err != nil {
		return nil, fmt.Errorf("read the authority: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(authority) {
		return nil, fmt.Errorf("%s: %w", caFile, errNoCertificate)
	}
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if certFile != "" {
		pair, err := tls.LoadX509KeyPair(certFile, keyFile)
		if err != nil {
			return nil, fmt.Errorf("load the client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:     config,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     30 * time.Second,
		ForceAttemptHTTP2:   true,
	}}, nil
}

// Client speaks to one API server.
type Client struct {
	server string
	http   *http.Client
}

// New returns a client for the API server at that URL.
func New(server string, http *http.Client) *Client {
	return &Client{server: server, http: http}
}

// Get reads the object or list at path into result.
func (c *Client) Get(ctx context.Context, path string, result any) error {
	return c.call(ctx, http.MethodGet, path, nil, result)
}

// Create posts object to the collection or subresource at path and reads the
// answer into result, if there is one to read into.
func (c *Client) Create(ctx context.Context, path string, object, result any) error {
	return c.call(ctx, http.MethodPost, path, object, result)
}

// Delete removes the object at path.
func (c *Client) Delete(ctx context.Context, path string) error {
	return c.call(ctx, http.MethodDelete, path, nil, nil)
}

func (c *Client) call(ctx context.Context, method, path string, object, result any) error {
	response, err := c.send(ctx, method, path, object)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if result == nil {
		_, _ = io.Copy(io.Discard, response.Body) // so that the connection can be used again
		return nil
	}
	if err := json.NewDecoder(response.Body).Decode(result); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", method, path, err)
	}
	return nil
}

// send returns the response of a request that succeeded; its body is open.
func (c *Client) send(ctx context.Context, method, path string, object any) (*http.Response, error) {
	var body io.Reader
	if object != nil {
		content, err := json.Marshal(object)
		if err != nil {
			return nil, fmt.Errorf("%s %s: encode the object: %w", method, path, err)
		}
		body = bytes.NewReader(content)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.server+path, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", userAgent)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err // names method and URL already
	}
	if response.StatusCode >= http.StatusBadRequest {
		defer func() { _ = response.Body.Close() }()
		return nil, refusal(method, path, response)
	}
	return response, nil
}
