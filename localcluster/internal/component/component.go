// SPDX-License-Identifier: Apache-2.0

package component

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// The names of the components, which are also those of their programs.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kwok              = "kwok"
)

// etcdPeer is the port on which etcd would listen to other members.
const etcdPeer = "etcd-peer"

// KwokAnnotation with KwokValue marks a node that kwok simulates. kwok leaves every other node
// alone, for instance one with a real kubelet.
const (
	KwokAnnotation = "kwok.x-k8s.io/node"
	KwokValue      = "fake"
)

// Component is a program, ready to be started.
type Component struct {
	Name string
	// Program is the path of the program, or its name in PATH. Empty means the program of the
	// component's name in the directory of binaries.
	Program string
	Args    []string
	Health  Health
}

// Settings determine the arguments.
type Settings struct {
	Dir    state.Dir
	Config state.Config
	// Ports by PortNames.
	Ports map[string]int
	// Stages are the files that tell kwok how nodes and pods behave.
	Stages []string
}

// builders in the order in which the components need each other.
var builders = []struct {
	name  string
	ports []string
	build func(Settings) ([]string, Health)
}{
	{Etcd, []string{Etcd, etcdPeer}, Settings.etcd},
	{APIServer, []string{APIServer}, Settings.apiServer},
	{ControllerManager, []string{ControllerManager}, Settings.controllerManager},
	{Scheduler, []string{Scheduler}, Settings.scheduler},
	{Kwok, []string{Kwok}, Settings.kwok},
}

// Names lists the components in the order in which they start.
func Names() []string {
	names := make([]string, 0, len(builders))
	for _, builder := range builders {
		names = append(names, builder.name)
	}
	return names
}

// PortNames lists the keys of Settings.Ports that a component listens on.
func PortNames(name string) []string {
	for _, builder := range builders {
		if builder.name == name {
			return builder.ports
		}
	}
	return nil
}

// Build returns the component of that name, or false if there is none.
func Build(name string, settings Settings) (Component, bool) {
	for _, builder := range builders {
		if builder.name != name {
			continue
		}
		args, health := builder.build(settings)
		for _, extra := range settings.Config.ExtraArgs[name] {
			args = append(args, "--"+extra)
		}
		return Component{Name: name, Args: args, Health: health}, true
	}
	return Component{}, false
}

// Server is the API server's URL.
func (s Settings) Server() string { return s.url("https", APIServer) }

func (s Settings) address(port string) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Ports[port]))
}

func (s Settings) url(scheme, port string) string { return scheme + "://" + s.address(port) }

// pair returns the flags for a certificate and its key.
func (s Settings) pair(certFlag, keyFlag, name string) []string {
	return []string{"--" + certFlag + "=" + s.Dir.Cert(name), "--" + keyFlag + "=" + s.Dir.Key(name)}
}

// etcd accepts only holders of certificates of etcdAuthority, on the loopback address.
func (s Settings) etcd() ([]string, Health) {
	client, peer := s.url("https", Etcd), s.url("https", etcdPeer)
	return slices.Concat(
		s.pair("cert-file", "key-file", etcdServing),
		s.pair("peer-cert-file", "peer-key-file", etcdServing),
		[]string{
			"--name=localcluster",
			"--data-dir=" + s.Dir.EtcdData(),
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--trusted-ca-file=" + s.Dir.Cert(etcdAuthority),
			"--client-cert-auth=true",
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=localcluster=" + peer,
			"--peer-trusted-ca-file=" + s.Dir.Cert(etcdAuthority),
			"--peer-client-cert-auth=true",
			// The data goes with the cluster: it need not survive a power failure, and without
			// waiting for the disk everything is faster.
			"--unsafe-no-fsync=true",
		},
	), Health{URL: client + "/health", TLS: Access(s.Dir, etcdAuthority, etcdClient)}
}

func (s Settings) apiServer() ([]string, Health) {
	return slices.Concat(
		s.pair("tls-cert-file", "tls-private-key-file", APIServer),
		s.pair("etcd-certfile", "etcd-keyfile", etcdClient),
		s.pair("service-account-key-file", "service-account-signing-key-file", serviceAccount),
		s.pair("proxy-client-cert-file", "proxy-client-key-file", proxyClient),
		s.pair("kubelet-client-certificate", "kubelet-client-key", kubeletClient),
		[]string{
			"--bind-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(s.Ports[APIServer]),
			"--client-ca-file=" + s.Dir.Cert(Authority),
			"--etcd-servers=" + s.url("https", Etcd),
			"--etcd-cafile=" + s.Dir.Cert(etcdAuthority),
			"--service-cluster-ip-range=10.96.0.0/16",
			// A loopback address cannot be the endpoint of a Service, and no client here looks
			// for the API server through one.
			"--endpoint-reconciler-type=none",
			"--authorization-mode=Node,RBAC",
			"--enable-admission-plugins=NodeRestriction",
			"--allow-privileged=true",
			"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
			// Aggregated API servers. Without these flags, controller-manager and scheduler
			// fill their logs with complaints.
			"--requestheader-client-ca-file=" + s.Dir.Cert(proxyAuthority),
			"--requestheader-allowed-names=" + proxyClient,
			"--requestheader-username-headers=X-Remote-User",
			"--requestheader-group-headers=X-Remote-Group",
			"--requestheader-extra-headers-prefix=X-Remote-Extra-",
			"--kubelet-certificate-authority=" + s.Dir.Cert(Authority),
			"--kubelet-preferred-address-types=InternalIP", // a node's name does not resolve here
			"--audit-policy-file=" + s.Dir.AuditPolicy(),
			"--audit-log-path=" + s.Dir.AuditLog(),
			"--audit-log-maxsize=1048576", // MiB: it never rotates, so that a test reads one file
		},
		flag("runtime-config", s.Config.RuntimeConfig),
		flag("feature-gates", s.Config.FeatureGates),
	), Health{URL: s.Server() + "/readyz", TLS: Access(s.Dir, Authority, Admin)}
}

// DefaultAuditPolicy logs the metadata of every request, without the objects. It leaves out the
// stage at which a request has arrived, which adds nothing to the later ones.
const DefaultAuditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: ["RequestReceived"]
rules:
- level: Metadata
`

func (s Settings) controllerManager() ([]string, Health) {
	return s.manager(ControllerManager,
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+s.Dir.Key(serviceAccount),
		"--root-ca-file="+s.Dir.Cert(Authority),
		"--cluster-signing-cert-file="+s.Dir.Cert(Authority),
		"--cluster-signing-key-file="+s.Dir.Key(Authority),
		// The default of 20 requests a second alone takes 5 s of the start, to create a service
		// account for each of fifty controllers.
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	)
}

func (s Settings) scheduler() ([]string, Health) { return s.manager(Scheduler) }

// manager returns the arguments that controller-manager and scheduler share, and more.
func (s Settings) manager(name string, more ...string) ([]string, Health) {
	kubeconfig := s.Dir.ComponentKubeconfig(name)
	return slices.Concat(
		s.pair("tls-cert-file", "tls-private-key-file", serving(name)),
		[]string{
			"--kubeconfig=" + kubeconfig,
			"--authentication-kubeconfig=" + kubeconfig,
			"--authorization-kubeconfig=" + kubeconfig,
			"--bind-address=127.0.0.1",
			"--secure-port=" + strconv.Itoa(s.Ports[name]),
			"--leader-elect=false", // there is one of each: an election would only delay the start
		},
		more,
		flag("feature-gates", s.Config.FeatureGates),
	), Health{URL: s.url("https", name) + "/healthz", TLS: Access(s.Dir, Authority, "")}
}

func (s Settings) kwok() ([]string, Health) {
	args := []string{
		"--kubeconfig=" + s.Dir.ComponentKubeconfig(Kwok),
		"--manage-nodes-with-annotation-selector=" + KwokAnnotation + "=" + KwokValue,
		"--node-lease-duration-seconds=40", // as the kubelet's
		"--cidr=10.244.0.1/16",             // addresses for more pods than a test starts
		"--server-address=" + s.address(Kwok),
	}
	for _, stage := range s.Stages {
		args = append(args, "--config="+stage)
	}
	return args, Health{URL: s.url("http", Kwok) + "/healthz"}
}

// flag returns a flag with a map as its value, sorted, or nothing for an empty map.
func flag(name string, values map[string]string) []string {
	if len(values) == 0 {
		return nil
	}
	pairs := make([]string, 0, len(values))
	for _, key := range slices.Sorted(maps.Keys(values)) {
		pairs = append(pairs, key+"="+values[key])
	}
	return []string{fmt.Sprintf("--%s=%s", name, strings.Join(pairs, ","))}
}
