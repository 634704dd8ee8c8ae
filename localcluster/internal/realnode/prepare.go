// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"context"
	"fmt"
	"net"
	"os"

	"github.com/slipway-k8s/slipway/localcluster/internal/atomicfile"
	"github.com/slipway-k8s/slipway/localcluster/internal/certs"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/kubeconfig"
)

const (
	privateDir  = 0o700
	privateMode = 0o600
)

// What a certificate of the node is for.
const (
	client  = "client"
	serving = "serving"
)

// Prepare makes all that the node's programs need before the first of them starts.
// It may be called again. kubelet is the process of the node's own kubelet, if it has one.
func (n Node) Prepare(ctx context.Context, kubelet int) error {
	if err := Missing(); err != nil {
		return err
	}
	if err := checkAlone(kubelet); err != nil {
		return err
	}
	if err := n.checkPaths(); err != nil {
		return err
	}
	for _, dir := range []string{n.path("cni"), n.path("volume-plugins"), n.Manifests(), n.PodLogs(), n.kubeletRoot()} {
		if err := os.MkdirAll(dir, privateDir); err != nil {
			return fmt.Errorf("make a directory of node %s: %w", n.Name, err)
		}
	}
	if err := n.writeSettings(); err != nil {
		return err
	}
	if err := n.writeIdentity(); err != nil {
		return err
	}
	if err := n.makeCgroup(); err != nil {
		return err
	}
	return n.addAddress(ctx)
}

func (n Node) writeSettings() error {
	network, err := n.networkSettings()
	if err != nil {
		return err
	}
	kubelet, err := n.kubeletSettings()
	if err != nil {
		return err
	}
	for path, content := range map[string][]byte{
		n.containerdConfig():              []byte(n.containerdSettings()),
		n.path("cni", "10-pods.conflist"): network,
		n.kubeletConfig():                 kubelet,
		n.path("resolv.conf"):             nil,
	} {
		if err := atomicfile.Write(path, content, privateMode); err != nil {
			return err
		}
	}
	return nil
}

// writeIdentity makes the kubelet a member of the cluster: the Node authorizer knows it
// by user and group.
func (n Node) writeIdentity() error {
	dir := n.cluster()
	if _, err := os.Stat(n.kubeconfig()); err == nil {
		return nil
	}
	authority, err := certs.LoadAuthority(component.AuthorityFile(dir), component.AuthorityKeyFile(dir))
	if err != nil {
		return err
	}
	user := "system:node:" + n.Name
	asClient, err := authority.Client(user, "system:nodes")
	if err != nil {
		return err
	}
	asServer, err := authority.Serving(user, []net.IP{net.ParseIP(n.Address())}, []string{n.Name})
	if err != nil {
		return err
	}
	for use, pair := range map[string]*certs.Pair{client: asClient, serving: asServer} {
		name := n.certificate(use)
		if err := pair.Write(dir.Cert(name), dir.Key(name)); err != nil {
			return err
		}
	}
	return kubeconfig.Write(n.kubeconfig(), kubeconfig.Access{
		Server: n.Settings.Server(), CAFile: component.AuthorityFile(dir), User: user,
		CertFile: dir.Cert(n.certificate(client)), KeyFile: dir.Key(n.certificate(client)),
	})
}
