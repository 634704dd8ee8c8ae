// SPDX-License-Identifier: Apache-2.0

package state

import "path/filepath"

// Dir is the absolute path of a cluster's directory. Its methods return the path of each file.
type Dir string

// Owned lists everything that a cluster makes directly in its directory. Removing a cluster removes only these. The
// state file is last: while it exists, the rest is known to be the cluster's.
func Owned() []string {
	return []string{
		"audit.log", "audit-policy.yaml", "etcd", "kubeconfig", "kubeconfigs", "kwok", "logs", "nodes", "pki", "pods", "state.json",
	}
}

func (d Dir) path(elements ...string) string {
	return filepath.Join(append([]string{string(d)}, elements...)...)
}

// State is the file that marks the directory as a cluster's.
func (d Dir) State() string { return d.path("state.json") }

// Kubeconfig is the administrator's.
func (d Dir) Kubeconfig() string { return d.path("kubeconfig") }

// ComponentKubeconfig is the kubeconfig of the component of that name.
func (d Dir) ComponentKubeconfig(component string) string { return d.path("kubeconfigs", component) }

// Kubeconfigs is the directory of the components' kubeconfigs.
func (d Dir) Kubeconfigs() string { return d.path("kubeconfigs") }

// AuditLog has one JSON object a line for each request to the API server.
func (d Dir) AuditLog() string { return d.path("audit.log") }

// AuditPolicy is the policy of the audit log.
func (d Dir) AuditPolicy() string { return d.path("audit-policy.yaml") }

// EtcdData is etcd's data directory.
func (d Dir) EtcdData() string { return d.path("etcd") }

// KwokHome is an empty directory in which kwok looks for its defaults: a configuration in the
// user's home must change nothing.
func (d Dir) KwokHome() string { return d.path("kwok") }

// Logs is the directory of the components' logs.
func (d Dir) Logs() string { return d.path("logs") }

// Log is the log of one component.
func (d Dir) Log(component string) string { return d.path("logs", component+".log") }

// PKI is the directory of certificates and keys.
func (d Dir) PKI() string { return d.path("pki") }

// Cert is the certificate of that name.
func (d Dir) Cert(name string) string { return d.path("pki", name+".crt") }

// Key is the private key of the certificate of that name.
func (d Dir) Key(name string) string { return d.path("pki", name+".key") }

// Pod holds the files for the process of one simulated pod. No Kubernetes name contains "_", so
// two pods never share a directory.
func (d Dir) Pod(namespace, name string) string { return d.path("pods", namespace+"_"+name) }

// PodLog is the log of that process, where it runs in the background.
func (d Dir) PodLog(namespace, name string) string {
	return d.path("logs", "pod_"+namespace+"_"+name+".log")
}

// Node holds everything of one real node.
func (d Dir) Node(name string) string { return d.path("nodes", name) }
