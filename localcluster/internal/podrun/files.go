// SPDX-License-Identifier: Apache-2.0

package podrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/files"
)

// Files is the directory for one pod's process: token, ca.crt and namespace, as the kubelet
// would mount them, and a kubeconfig that uses them.
type Files string

func (f Files) path(name string) string { return filepath.Join(string(f), name) }

func (f Files) token() string { return f.path("token") }

// pid holds the process ID of the command while the command runs.
func (f Files) pid() string { return f.path("pid") }

// started holds the time at which the command last started, and stays.
func (f Files) started() string { return f.path("started") }

// Started reports whether the command has started.
func (f Files) Started() bool {
	_, err := os.Stat(f.started())
	return err == nil
}

// Forget removes what an earlier process of this pod has left.
func (f Files) Forget() error {
	for _, path := range []string{f.pid(), f.started()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget an earlier process: %w", err)
		}
	}
	return nil
}

// write writes all files except the token.
func (f Files) write(r Run) error {
	if err := os.MkdirAll(string(f), files.PrivateDir); err != nil {
		return fmt.Errorf("make the directory of pod %s/%s: %w", r.Pod.Namespace, r.Pod.Name, err)
	}
	authority, err := os.ReadFile(r.AuthorityFile)
	if err != nil {
		return fmt.Errorf("read the cluster's authority: %w", err)
	}
	if err := files.Replace(f.path("ca.crt"), authority); err != nil {
		return err
	}
	if err := files.Replace(f.path("namespace"), []byte(r.Pod.Namespace)); err != nil {
		return err
	}
	return component.WriteKubeconfig(f.path("kubeconfig"), r.Pod.Spec.ServiceAccountName, r.Pod.Namespace, &rest.Config{
		Host: r.Server, TLSClientConfig: rest.TLSClientConfig{CAFile: f.path("ca.crt")}, BearerTokenFile: f.token(),
	})
}

func (f Files) writeToken(token string) error { return files.Replace(f.token(), []byte(token)) }

func (f Files) writePID(pid int) error {
	if err := files.Replace(f.pid(), []byte(strconv.Itoa(pid)+"\n")); err != nil {
		return err
	}
	return files.Replace(f.started(), []byte(time.Now().UTC().Format(time.RFC3339Nano)+"\n"))
}

// removePID is for when the command has ended.
func (f Files) removePID() {
	_ = os.Remove(f.pid()) // it goes with the cluster at the latest
}

// environment returns the variables of the command in addition to the launcher's own environment.
func (f Files) environment(pod *corev1.Pod) []string {
	return []string{
		"KUBECONFIG=" + f.path("kubeconfig"),
		"NODE_NAME=" + pod.Spec.NodeName,
		"POD_NAME=" + pod.Name,
		"POD_NAMESPACE=" + pod.Namespace,
		"POD_UID=" + string(pod.UID),
		"POD_SERVICE_ACCOUNT=" + pod.Spec.ServiceAccountName,
		"NAMESPACE=" + pod.Namespace,
		"SERVICE_ACCOUNT_DIR=" + string(f),
	}
}
