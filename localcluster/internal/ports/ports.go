// SPDX-License-Identifier: Apache-2.0

// Package ports finds TCP ports on the loopback address to listen on.
package ports

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The range is below the ports that Linux hands out for outgoing connections
// (32768 and up): while a component is stopped for a fault test, no client's
// connection can take its port by chance.
const (
	lowest  = 20000
	highest = 32000
)

var errNoneFree = errors.New("no free TCP port on 127.0.0.1")

// Pick returns a port on which nothing listens right now. Somebody may take it
// before it is used; whoever uses it must be ready to pick again.
func Pick(ctx context.Context) (int, error) {
	const attempts = 200
	var config net.ListenConfig
	for range attempts {
		port := lowest + rand.IntN(highest-lowest)
		listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		if err := listener.Close(); err != nil {
			return 0, fmt.Errorf("release port %d: %w", port, err)
		}
		return port, nil
	}
	return 0, fmt.Errorf("%w between %d and %d after %d attempts", errNoneFree, lowest, highest, attempts)
}
