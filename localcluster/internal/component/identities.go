// SPDX-License-Identifier: Apache-2.0

package component

import (
	"crypto"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/kwok/pkg/kwokctl/pki"

	"github.com/slipway-k8s/slipway/localcluster/internal/files"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// Names of certificates, and of the files that hold them.
const (
	// Authority signs everything of Kubernetes itself.
	Authority = "ca"
	// Admin is the administrator, and the user's name.
	Admin = "admin"

	// etcd has a separate authority.
	etcdAuthority = "etcd-ca"
	etcdServing   = "etcd"
	etcdClient    = "etcd-client"

	// The API server proves itself to aggregated API servers by proxyClient. Its authority is
	// a separate one, because a holder of such a certificate may claim to be any user.
	proxyAuthority = "front-proxy-ca"
	proxyClient    = "front-proxy-client"

	// kubeletClient is the API server's certificate for the kubelets of real nodes, for logs and
	// commands.
	kubeletClient = "kube-apiserver-kubelet-client"

	// serviceAccount signs the tokens of service accounts.
	serviceAccount = "service-account"
)

// superusers is the group with all permissions.
const superusers = "system:masters"

// serving is the name of the serving certificate of a component whose own name is the name of its client certificate.
func serving(name string) string { return name + "-serving" }

// Identity is a certificate that an authority signs. A server's has hosts; etcd's peers are both server and client.
type Identity struct {
	// Name is the name of its files.
	Name      string
	Authority string
	User      string
	Groups    []string
	Hosts     []string
	Addresses []net.IP
}

// identities returns the certificates of a new cluster. kwok plays all kubelets at once, for which RBAC has no role:
// it is a superuser.
func identities() []Identity {
	local := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	hosts := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	return append([]Identity{
		{Name: etcdServing, Authority: etcdAuthority, User: Etcd, Hosts: hosts[:1], Addresses: local},
		{Name: etcdClient, Authority: etcdAuthority, User: APIServer},
		{Name: proxyClient, Authority: proxyAuthority, User: proxyClient},
		{Name: APIServer, Authority: Authority, User: APIServer, Hosts: hosts, Addresses: local},
		{Name: serving(ControllerManager), Authority: Authority, User: ControllerManager, Hosts: hosts, Addresses: local},
		{Name: serving(Scheduler), Authority: Authority, User: Scheduler, Hosts: hosts, Addresses: local},
		{Name: kubeletClient, Authority: Authority, User: kubeletClient, Groups: []string{superusers}},
	}, users()...)
}

// users are the holders of kubeconfigs.
func users() []Identity {
	return []Identity{
		{Name: Admin, Authority: Authority, User: Admin, Groups: []string{superusers}},
		{Name: ControllerManager, Authority: Authority, User: "system:kube-controller-manager"},
		{Name: Scheduler, Authority: Authority, User: "system:kube-scheduler"},
		{Name: Kwok, Authority: Authority, User: Kwok, Groups: []string{superusers}},
	}
}

// WriteIdentities makes all keys and certificates of a new cluster.
func WriteIdentities(dir state.Dir) error {
	for _, name := range []string{Authority, etcdAuthority, proxyAuthority, serviceAccount} {
		cert, key, err := pki.NewCertificateAuthority(certificate(Identity{User: "localcluster-" + name}))
		if err != nil {
			return fmt.Errorf("create the authority %s: %w", name, err)
		}
		if err := writePair(dir, name, cert, key); err != nil {
			return err
		}
	}
	for _, identity := range identities() {
		if err := identity.Write(dir); err != nil {
			return err
		}
	}
	return nil
}

// Write makes the key and the certificate.
func (i Identity) Write(dir state.Dir) error {
	authority, authorityKey, err := pki.ReadCertAndKey(dir.PKI(), i.Authority)
	if err != nil {
		return fmt.Errorf("read the authority %s: %w", i.Authority, err)
	}
	cert, key, err := pki.NewCertAndKey(authority, authorityKey, certificate(i))
	if err != nil {
		return fmt.Errorf("sign the certificate of %s: %w", i.User, err)
	}
	return writePair(dir, i.Name, cert, key)
}

func certificate(i Identity) pki.CertConfig {
	const validity = 365 * 24 * time.Hour // longer than a throw-away cluster lives
	now := time.Now()
	config := pki.CertConfig{
		CommonName: i.User, Organization: i.Groups, PublicKeyAlgorithm: x509.ECDSA,
		Usages:    []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore: now.Add(-time.Minute), NotAfter: now.Add(validity), // clocks may be set back a little
	}
	if len(i.Hosts) > 0 {
		config.Usages = append(config.Usages, x509.ExtKeyUsageServerAuth)
		config.AltNames = pki.AltNames{DNSNames: i.Hosts, IPs: i.Addresses}
	}
	return config
}

// writePair writes both for their owner alone, which kwok's own function does not.
func writePair(dir state.Dir, name string, cert *x509.Certificate, key crypto.Signer) error {
	encoded, err := pki.EncodePrivateKeyToPEM(key)
	if err != nil {
		return fmt.Errorf("encode the key of %s: %w", name, err)
	}
	if err := files.Replace(dir.Key(name), encoded); err != nil {
		return err
	}
	return files.Replace(dir.Cert(name), pki.EncodeCertToPEM(cert))
}

// Access makes a client trust a server of that authority, and authenticate as user unless user is empty.
func Access(dir state.Dir, authority, user string) rest.TLSClientConfig {
	access := rest.TLSClientConfig{CAFile: dir.Cert(authority)}
	if user != "" {
		access.CertFile, access.KeyFile = dir.Cert(user), dir.Key(user)
	}
	return access
}

// WriteKubeconfigs tells every user where the API server is.
func WriteKubeconfigs(s Settings) error {
	if err := os.MkdirAll(s.Dir.Kubeconfigs(), files.PrivateDir); err != nil {
		return fmt.Errorf("make the directory of kubeconfigs: %w", err)
	}
	for _, user := range users() {
		path := s.Dir.ComponentKubeconfig(user.Name)
		if user.Name == Admin {
			path = s.Dir.Kubeconfig()
		}
		access := &rest.Config{Host: s.Server(), TLSClientConfig: Access(s.Dir, Authority, user.Name)}
		if err := WriteKubeconfig(path, user.Name, "", access); err != nil {
			return err
		}
	}
	return nil
}

// WriteKubeconfig writes a kubeconfig that names the files of config and does not contain them:
// so a renewed token reaches a client that already runs. user is a name for people to read.
func WriteKubeconfig(path, user, namespace string, config *rest.Config) error {
	const cluster = "localcluster"
	written := clientcmdapi.NewConfig()
	written.CurrentContext = user + "@" + cluster
	written.Clusters[cluster] = &clientcmdapi.Cluster{Server: config.Host, CertificateAuthority: config.CAFile}
	written.AuthInfos[user] = &clientcmdapi.AuthInfo{
		ClientCertificate: config.CertFile, ClientKey: config.KeyFile, TokenFile: config.BearerTokenFile,
	}
	written.Contexts[written.CurrentContext] = &clientcmdapi.Context{Cluster: cluster, AuthInfo: user, Namespace: namespace}
	content, err := clientcmd.Write(*written)
	if err != nil {
		return fmt.Errorf("encode the kubeconfig of %s: %w", user, err)
	}
	return files.Replace(path, content)
}
