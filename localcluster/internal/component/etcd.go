// SPDX-License-Identifier: Apache-2.0

package component

// Names of certificates that belong to etcd's own authority.
const (
	etcdAuthority = "etcd-ca"
	etcdServing   = "etcd"
	etcdClient    = "etcd-client"
)

// buildEtcd returns an etcd that only holders of a certificate of its own
// authority may speak to, over the loopback address.
func buildEtcd(s Settings) Component {
	client, peer := s.url("https", Etcd), s.url("https", etcdPeer)
	return Component{
		Args: []string{
			"--name=localcluster",
			"--data-dir=" + s.Dir.EtcdData(),
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--cert-file=" + s.Dir.Cert(etcdServing),
			"--key-file=" + s.Dir.Key(etcdServing),
			"--trusted-ca-file=" + s.Dir.Cert(etcdAuthority),
			"--client-cert-auth=true",
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=localcluster=" + peer,
			"--peer-cert-file=" + s.Dir.Cert(etcdServing),
			"--peer-key-file=" + s.Dir.Key(etcdServing),
			"--peer-trusted-ca-file=" + s.Dir.Cert(etcdAuthority),
			"--peer-client-cert-auth=true",
			// The data is thrown away with the cluster: it need not survive a
			// power failure, and without waiting for the disk all is faster.
			"--unsafe-no-fsync=true",
		},
		Health: Health{
			URL:      client + "/health",
			CAFile:   s.Dir.Cert(etcdAuthority),
			CertFile: s.Dir.Cert(etcdClient),
			KeyFile:  s.Dir.Key(etcdClient),
		},
	}
}
