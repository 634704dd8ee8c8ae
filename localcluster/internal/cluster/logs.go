// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// tail returns the end of a file, from the beginning of a line.
func tail(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("read the end of a log: %w", err)
	}
	defer func() { _ = file.Close() }()
	const enough = 6 << 10
	if end, err := file.Seek(0, io.SeekEnd); err == nil && end > enough {
		_, err = file.Seek(-enough, io.SeekEnd)
		if err != nil {
			return "", fmt.Errorf("read the end of a log: %w", err)
		}
	} else if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("read the end of a log: %w", err)
	}
	content, err := io.ReadAll(file)
	if err != nil {
		return "", fmt.Errorf("read the end of a log: %w", err)
	}
	return lastLines(string(content)), nil
}

func lastLines(text string) string {
	const kept = 15
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-kept):], "\n")
}

// quote is the end of a component's log, to be put behind an error.
func (c *Cluster) quote(component string) string {
	path := c.dir.Log(component)
	end, err := tail(path)
	if err != nil || end == "" {
		return fmt.Sprintf(" (it wrote nothing to %s)", path)
	}
	return fmt.Sprintf("\n--- the end of %s\n%s\n---", path, end)
}
