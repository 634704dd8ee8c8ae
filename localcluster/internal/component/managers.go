// SPDX-License-Identifier: Apache-2.0

package component

import "strconv"

func buildControllerManager(s Settings) Component {
	args := append(s.managerArgs(ControllerManager),
		"--use-service-account-credentials=true",
		"--service-account-private-key-file="+s.Dir.Key(serviceAccount),
		"--root-ca-file="+s.Dir.Cert(authority),
		"--cluster-signing-cert-file="+s.Dir.Cert(authority),
		"--cluster-signing-key-file="+s.Dir.Key(authority),
		// The default of 20 requests a second alone takes 5s of the start: first of
		// all, a service account is made for each of fifty controllers.
		"--kube-api-qps=200",
		"--kube-api-burst=400",
	)
	return s.manager(ControllerManager, args)
}

func buildScheduler(s Settings) Component {
	return s.manager(Scheduler, s.managerArgs(Scheduler))
}

// managerArgs are those that controller-manager and scheduler share.
func (s Settings) managerArgs(name string) []string {
	kubeconfig := s.Dir.ComponentKubeconfig(name)
	return []string{
		"--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig,
		"--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1",
		"--secure-port=" + portNumber(s, name),
		"--tls-cert-file=" + s.Dir.Cert(serving(name)),
		"--tls-private-key-file=" + s.Dir.Key(serving(name)),
		// There is one of each: an election would only make the start longer.
		"--leader-elect=false",
	}
}

func (s Settings) manager(name string, args []string) Component {
	return Component{
		Args: append(args, s.kubernetesArgs()...),
		Health: Health{
			URL:    s.url("https", name) + "/healthz",
			CAFile: s.Dir.Cert(authority),
		},
	}
}

// serving names the certificate that a component serves with, where its own
// name is that of its client certificate.
func serving(name string) string { return name + "-serving" }

func portNumber(s Settings, name string) string { return strconv.Itoa(s.Ports[name]) }
