// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// ErrNoMarkers means that the file has no place for the text.
var ErrNoMarkers = errors.New("no place for it")

// Insert puts the text into a file, between the markers of the given name. The first marker also names the make
// target.
func Insert(path, name, text string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed, err := insert(string(page), name, text)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, []byte(changed), 0o644)
}

func insert(page, name, text string) (string, error) {
	begin := fmt.Sprintf("<!-- %s: begin (", name)
	end := fmt.Sprintf("<!-- %s: end -->\n", name)
	before, rest, found := strings.Cut(page, begin)
	by, rest, foundBy := strings.Cut(rest, " writes this) -->\n")
	_, after, foundEnd := strings.Cut(rest, end)
	if !found || !foundBy || !foundEnd {
		return "", fmt.Errorf("%w: there are no lines %q and %q", ErrNoMarkers, begin+"… writes this) -->", strings.TrimSpace(end))
	}
	return before + begin + by + " writes this) -->\n" + text + end + after, nil
}
