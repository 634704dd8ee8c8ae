// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
)

// maxAnswer limits what a driver can make the agent read.
const maxAnswer = 4 << 20

// reconnect is quick: the other end is on the same machine.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
	MinConnectTimeout: 20 * time.Second,
}

// connect makes a connection to a unix socket, when the first call is made. If
// dialed is not nil, it is told how each attempt to connect went.
func connect(path string, dialed func(error)) (*grpc.ClientConn, error) {
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if dialed != nil {
			dialed(err)
		}
		return conn, err
	}
	// Not the unix resolver: it reads the path as a URL. The authority is the one that
	// it would give, because servers in other languages refuse a path there.
	conn, err := grpc.NewClient("passthrough:///driver",
		grpc.WithAuthority("localhost"),
		grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(reconnect),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", path, err)
	}
	return conn, nil
}

// closeConn closes a connection. The only error there is says that it was closed
// before.
func closeConn(conn *grpc.ClientConn) { _ = conn.Close() }
