// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// Event is one line of a watch. Type is ADDED, MODIFIED, DELETED, BOOKMARK or
// ERROR.
type Event struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

// Watch calls handle for each event at path (which asks for a watch in its
// query) until the server ends the watch, handle returns an error or ctx is
// done. That the server ends a watch is normal and no error.
func (c *Client) Watch(ctx context.Context, path string, handle func(Event) error) error {
	response, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	decoder := json.NewDecoder(response.Body)
	for {
		var event Event
		if err := decoder.Decode(&event); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("watch %s: %w", path, err)
		}
		if err := handle(event); err != nil {
			return err
		}
	}
}
