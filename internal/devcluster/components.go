// SPDX-License-Identifier: Apache-2.0

package devcluster

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
)

// Components are the process ids of the control plane, by name.
func (c *Cluster) Components(ctx context.Context) (map[string]int, error) {
	var out bytes.Buffer
	if err := c.launch(ctx, &out, "status", "--dir", c.Dir, "-o", "json"); err != nil {
		return nil, fmt.Errorf("ask for the processes of the cluster: %w", err)
	}
	var status struct {
		Components []struct {
			Name string `json:"name"`
			PID  int    `json:"pid"`
		} `json:"components"`
	}
	if err := json.Unmarshal(out.Bytes(), &status); err != nil {
		return nil, fmt.Errorf("read the processes of the cluster: %w", err)
	}
	pids := map[string]int{}
	for _, component := range status.Components {
		pids[component.Name] = component.PID
	}
	return pids, nil
}
