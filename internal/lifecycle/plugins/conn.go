// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
)

// maxAnswer limits the size of a driver's answer.
const maxAnswer = 4 << 20

// reconnect has short delays: the driver is on the same machine.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second},
	MinConnectTimeout: 20 * time.Second,
}

// dialer opens a connection to a driver.
type dialer func(context.Context) (net.Conn, error)

// to returns the dialer of a unix socket.
func to(path string) dialer {
	return func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "unix", path) }
}

// connect returns a connection to a driver. The first call opens it.
func connect(dial dialer) (*grpc.ClientConn, error) {
	// gRPC's unix resolver reads the path as a URL, so the dialer has the path. The
	// authority is the resolver's, because servers in other languages reject a path there.
	conn, err := grpc.NewClient("passthrough:///driver",
		grpc.WithAuthority("localhost"),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return dial(ctx) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(reconnect),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithDisableRetry(),
		grpc.WithDisableServiceConfig(),
		grpc.WithIdleTimeout(0),
	)
	if err != nil {
		return nil, fmt.Errorf("build a client of the driver: %w", err)
	}
	return conn, nil
}

// isReady waits until the driver answers, or until ctx ends. A
// connection is Ready when it has received the settings of HTTP/2.
func isReady(ctx context.Context, dial dialer) bool {
	conn, err := connect(dial)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }() // it fails only for a closed connection
	for {
		state := conn.GetState()
		if state == connectivity.Ready {
			return true
		}
		conn.Connect()
		if !conn.WaitForStateChange(ctx, state) {
			return false
		}
	}
}

// awaitLoss returns when the driver has closed the connection, or ctx has ended. The
// kernel closes it when the process dies, although the socket's file remains. The
// connection may still be Connecting after the first answer.
func awaitLoss(ctx context.Context, conn *grpc.ClientConn) {
	state := conn.GetState()
	for state == connectivity.Connecting || state == connectivity.Ready {
		if !conn.WaitForStateChange(ctx, state) {
			return
		}
		state = conn.GetState()
	}
}
