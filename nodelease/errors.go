// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNotHolder is that who renews or gives back the lease does not hold it (any more).
var ErrNotHolder = errors.New("does not hold the lease")

// ErrLost is why the work of [Client.Keep] was canceled: the lease has expired before it
// could be renewed, or somebody has taken it away.
var ErrLost = errors.New("the lease is lost")

// TakenError is that somebody else holds the lease.
type TakenError struct {
	// Node whose lease it is.
	Node string
	// Held is who holds it.
	Held Held
}

// Error names the holder. It does not say until when, as that changes with each renewal.
func (e *TakenError) Error() string {
	text := fmt.Sprintf("the lease of node %s is held by %q since %s", e.Node, e.Held.Holder, e.Held.Since.UTC().Format(time.RFC3339))
	if e.Held.Purpose != "" {
		text += ": " + strings.Join(strings.Fields(e.Held.Purpose), " ") // on one line, whoever wrote it
	}
	return text
}

// check names what is wrong with what a holder asks for.
func check(node, holder string, d time.Duration) error {
	switch {
	case node == "":
		return errors.New("node: the name of the node is missing")
	case holder == "":
		return errors.New("holder: the name of the holder is missing")
	case IsAdministrator(holder):
		return nil // for as long as they like
	case d < time.Second || d > MaxDuration:
		return fmt.Errorf("duration: %s must be between 1s and %s, and be renewed before it is over", d, MaxDuration)
	default:
		return nil
	}
}
