// SPDX-License-Identifier: Apache-2.0

package ports

import (
	"net"
	"strconv"
	"testing"
)

func TestPickedPortCanBeUsed(t *testing.T) {
	port, err := Pick(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if port < lowest || port >= highest {
		t.Errorf("port %d is out of range", port)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Error(err)
	}
}
