// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"net"
	"os"

	"github.com/slipway-k8s/slipway/localcluster/internal/certs"
	"github.com/slipway-k8s/slipway/localcluster/internal/kubeconfig"
	"github.com/slipway-k8s/slipway/localcluster/internal/layout"
)

// superusers is the group that may do everything.
const superusers = "system:masters"

// users says as whom each holder of a kubeconfig comes to the API server. kwok
// plays all kubelets at once, for which RBAC has no role: it is a superuser.
var users = []struct {
	name, user string
	groups     []string
}{
	{Admin, "admin", []string{superusers}},
	{ControllerManager, "system:kube-controller-manager", nil},
	{Scheduler, "system:kube-scheduler", nil},
	{Kwok, "kwok", []string{superusers}},
}

// AuthorityFile is what clients have to trust.
func AuthorityFile(dir layout.Dir) string { return dir.Cert(authority) }

// AuthorityKeyFile is what signs more certificates of the cluster.
func AuthorityKeyFile(dir layout.Dir) string { return dir.Key(authority) }

// WriteIdentities makes all keys and certificates of a new cluster.
func WriteIdentities(dir layout.Dir) error {
	if err := writeEtcdIdentities(dir); err != nil {
		return err
	}
	if err := writeProxyIdentity(dir); err != nil {
		return err
	}
	ca, err := newAuthority(dir, authority)
	if err != nil {
		return err
	}
	hosts := append(localHosts(), "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local")
	for _, name := range []string{APIServer, serving(ControllerManager), serving(Scheduler)} {
		if err := write(dir, name)(ca.Serving(name, loopback(), hosts)); err != nil {
			return err
		}
	}
	if err := write(dir, kubeletClient)(ca.Client(kubeletClient, superusers)); err != nil {
		return err
	}
	for _, u := range users {
		if err := write(dir, u.name)(ca.Client(u.user, u.groups...)); err != nil {
			return err
		}
	}
	return certs.WriteSigningKey(dir.Cert(serviceAccount), dir.Key(serviceAccount))
}

func writeEtcdIdentities(dir layout.Dir) error {
	ca, err := newAuthority(dir, etcdAuthority)
	if err != nil {
		return err
	}
	if err := write(dir, etcdServing)(ca.Serving(Etcd, loopback(), localHosts())); err != nil {
		return err
	}
	return write(dir, etcdClient)(ca.Client(APIServer))
}

func writeProxyIdentity(dir layout.Dir) error {
	ca, err := newAuthority(dir, proxyAuthority)
	if err != nil {
		return err
	}
	return write(dir, proxyClient)(ca.Client(proxyClient))
}

func newAuthority(dir layout.Dir, name string) (*certs.Authority, error) {
	made, err := certs.NewAuthority("localcluster-" + name)
	if err != nil {
		return nil, err
	}
	return made, made.Write(dir.Cert(name), dir.Key(name))
}

// write returns what stores a pair under a name; its arguments are the results
// of making the pair.
func write(dir layout.Dir, name string) func(*certs.Pair, error) error {
	return func(pair *certs.Pair, err error) error {
		if err != nil {
			return err
		}
		return pair.Write(dir.Cert(name), dir.Key(name))
	}
}

func loopback() []net.IP { return []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback} }

func localHosts() []string { return []string{"localhost"} }

// WriteKubeconfigs tells every user where the API server is.
func WriteKubeconfigs(s Settings) error {
	if err := os.MkdirAll(s.Dir.Kubeconfigs(), 0o700); err != nil {
		return fmt.Errorf("make the directory of kubeconfigs: %w", err)
	}
	for _, u := range users {
		path := s.Dir.ComponentKubeconfig(u.name)
		if u.name == Admin {
			path = s.Dir.Kubeconfig()
		}
		if err := kubeconfig.Write(path, kubeconfig.Access{
			Server: s.Server(), CAFile: s.Dir.Cert(authority), User: u.name,
			CertFile: s.Dir.Cert(u.name), KeyFile: s.Dir.Key(u.name),
		}); err != nil {
			return err
		}
	}
	return nil
}
