// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strings"
)

var errNoNetwork = errors.New("all of 198.18.0.0/15 is in use on this machine")

// PickNetwork returns the first three bytes of a network that no interface of this
// machine is in. It is one of those that are set aside for tests (RFC 2544), so nobody's
// real network is hidden by it.
func PickNetwork() (string, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return "", fmt.Errorf("list the addresses of this machine: %w", err)
	}
	const networks, perByte = 512, 256
	first := rand.IntN(networks)
	for i := range networks {
		number := (first + i) % networks
		picked := fmt.Sprintf("198.%d.%d", 18+number/perByte, number%perByte)
		if !inUse(picked, addresses) {
			return picked, nil
		}
	}
	return "", errNoNetwork
}

func inUse(network string, addresses []net.Addr) bool {
	_, candidate, err := net.ParseCIDR(network + ".0/24")
	if err != nil {
		return true
	}
	for _, address := range addresses {
		other, ok := address.(*net.IPNet)
		if ok && (candidate.Contains(other.IP) || other.Contains(candidate.IP)) {
			return true
		}
	}
	return false
}

// addAddress gives the loopback interface the node's address. A kubelet takes none of
// 127.0.0.0/8, and one that the machine has besides could be reached from elsewhere.
func (n Node) addAddress(ctx context.Context) error {
	if n.hasAddress() {
		return nil
	}
	return ip(ctx, "address", "add", n.Address()+"/32", "dev", "lo")
}

func (n Node) hasAddress() bool {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, address := range addresses {
		if own, ok := address.(*net.IPNet); ok && own.IP.String() == n.Address() {
			return true
		}
	}
	return false
}

// removeNetwork removes the machine's ends of the pods' networks, and the node's address.
func (n Node) removeNetwork(ctx context.Context) error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("list the interfaces of this machine: %w", err)
	}
	for _, found := range interfaces {
		addresses, err := found.Addrs()
		if err != nil || !strings.HasPrefix(found.Name, "veth") {
			continue // an interface that is gone meanwhile
		}
		for _, address := range addresses {
			own, ok := address.(*net.IPNet)
			if !ok || own.IP.String() != n.gateway() {
				continue
			}
			// It goes by itself with the pod's network, which may happen just now.
			if err := ip(ctx, "link", "delete", found.Name); err != nil && exists(found.Name) {
				return err
			}
		}
	}
	if !n.hasAddress() {
		return nil
	}
	return ip(ctx, "address", "delete", n.Address()+"/32", "dev", "lo")
}

func exists(name string) bool {
	_, err := net.InterfaceByName(name)
	return err == nil
}

func ip(ctx context.Context, args ...string) error {
	output, err := exec.CommandContext(ctx, "ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(output)))
	}
	return nil
}
