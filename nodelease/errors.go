// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNotHolder means that the caller of a renewal or release does not hold the lease (or has
// lost it).
var ErrNotHolder = errors.New("does not hold the lease")

// ErrLost is the cause of the cancellation of the work of [Client.Keep]: the lease expired
// before it could be renewed, or another client has taken it.
var ErrLost = errors.New("the lease is lost")

// TakenError means that another holder has the lease.
type TakenError struct {
	// Node is the name of the node.
	Node string
	// Held describes the holder.
	Held Held
}

// Error names the holder. It omits the expiry, which changes with each renewal.
func (e *TakenError) Error() string {
	text := fmt.Sprintf("the lease of node %s is held by %q since %s", e.Node, e.Held.Holder, e.Held.Since.UTC().Format(time.RFC3339))
	if e.Held.Purpose != "" {
		text += ": " + strings.Join(strings.Fields(e.Held.Purpose), " ") // on one line
	}
	return text
}

// check returns an error for invalid arguments of a holder.
func check(node, holder string, d time.Duration) error {
	switch {
	case node == "":
		return errors.New("node: the name of the node is missing")
	case holder == "":
		return errors.New("holder: the name of the holder is missing")
	case IsAdministrator(holder):
		return nil // no limit for persons
	case d < time.Second || d > MaxDuration:
		return fmt.Errorf("duration: %s must be between 1s and %s, and must be renewed before it ends", d, MaxDuration)
	default:
		return nil
	}
}
