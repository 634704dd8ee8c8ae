// SPDX-License-Identifier: Apache-2.0

package component

// authority signs everything of Kubernetes itself.
const authority = "ca"

// Admin is the user, and the certificate, of the administrator.
const Admin = "admin"

// Names of the certificates by which the API server proves itself to aggregated
// API servers. Of an authority of their own: whoever holds one may claim to be
// anyone.
const (
	proxyAuthority = "front-proxy-ca"
	proxyClient    = "front-proxy-client"
)

// kubeletClient is as whom the API server comes to the kubelets of real nodes, for
// logs and commands.
const kubeletClient = "kube-apiserver-kubelet-client"

// serviceAccount is the key pair that service account tokens are signed with.
const serviceAccount = "service-account"

// noRotation is the size in MiB at which the audit log would begin a new file:
// never, so that a test reads one file.
const noRotation = "1048576"

func buildAPIServer(s Settings) Component {
	args := []string{
		"--bind-address=127.0.0.1",
		"--secure-port=" + portNumber(s, APIServer),
		"--tls-cert-file=" + s.Dir.Cert(APIServer),
		"--tls-private-key-file=" + s.Dir.Key(APIServer),
		"--client-ca-file=" + s.Dir.Cert(authority),
		"--etcd-servers=" + s.url("https", Etcd),
		"--etcd-cafile=" + s.Dir.Cert(etcdAuthority),
		"--etcd-certfile=" + s.Dir.Cert(etcdClient),
		"--etcd-keyfile=" + s.Dir.Key(etcdClient),
		"--service-cluster-ip-range=10.96.0.0/16",
		// A loopback address cannot be the endpoint of a Service, and nobody
		// looks for the API server through one here.
		"--endpoint-reconciler-type=none",
		"--authorization-mode=Node,RBAC",
		"--enable-admission-plugins=NodeRestriction",
		"--allow-privileged=true",
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + s.Dir.Cert(serviceAccount),
		"--service-account-signing-key-file=" + s.Dir.Key(serviceAccount),
		// The way to aggregated API servers. Without it, controller-manager and
		// scheduler fill their logs with complaints.
		"--requestheader-client-ca-file=" + s.Dir.Cert(proxyAuthority),
		"--requestheader-allowed-names=" + proxyClient,
		"--requestheader-username-headers=X-Remote-User",
		"--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + s.Dir.Cert(proxyClient),
		"--proxy-client-key-file=" + s.Dir.Key(proxyClient),
		"--kubelet-client-certificate=" + s.Dir.Cert(kubeletClient),
		"--kubelet-client-key=" + s.Dir.Key(kubeletClient),
		"--kubelet-certificate-authority=" + s.Dir.Cert(authority),
		// A node's name leads nowhere here.
		"--kubelet-preferred-address-types=InternalIP",
		"--audit-policy-file=" + s.Dir.AuditPolicy(),
		"--audit-log-path=" + s.Dir.AuditLog(),
		"--audit-log-maxsize=" + noRotation,
	}
	if len(s.Config.RuntimeConfig) > 0 {
		args = append(args, "--runtime-config="+joinMap(s.Config.RuntimeConfig))
	}
	return Component{
		Args: append(args, s.kubernetesArgs()...),
		Health: Health{
			URL:      s.Server() + "/readyz",
			CAFile:   s.Dir.Cert(authority),
			CertFile: s.Dir.Cert(Admin),
			KeyFile:  s.Dir.Key(Admin),
		},
	}
}

// DefaultAuditPolicy logs who asked for what, of every request, without the
// objects themselves. The stage at which a request has merely arrived is left
// out: it says nothing that the later ones do not.
const DefaultAuditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: ["RequestReceived"]
rules:
- level: Metadata
`
