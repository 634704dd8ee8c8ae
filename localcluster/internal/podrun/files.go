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

	"github.com/slipway-k8s/slipway/localcluster/internal/atomicfile"
	"github.com/slipway-k8s/slipway/localcluster/internal/kubeconfig"
)

const (
	privateMode = 0o600
	privateDir  = 0o700
)

// Files is the directory of what one pod's process is given: token, ca.crt and
// namespace, as the kubelet would mount them, and a kubeconfig that uses them.
type Files string

func (f Files) token() string      { return filepath.Join(string(f), "token") }
func (f Files) authority() string  { return filepath.Join(string(f), "ca.crt") }
func (f Files) namespace() string  { return filepath.Join(string(f), "namespace") }
func (f Files) kubeconfig() string { return filepath.Join(string(f), "kubeconfig") }

// pid holds the process id of the command, and is there only while the command
// runs.
func (f Files) pid() string { return filepath.Join(string(f), "pid") }

// started holds the time at which the command was last started, and stays.
func (f Files) started() string { return filepath.Join(string(f), "started") }

// Started reports whether the command was ever started.
func (f Files) Started() bool {
	_, err := os.Stat(f.started())
	return err == nil
}

// Forget removes what an earlier process of this pod has left to be seen.
func (f Files) Forget() error {
	for _, path := range []string{f.pid(), f.started()} {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("forget an earlier process: %w", err)
		}
	}
	return nil
}

// write writes all files but the token.
func (f Files) write(pod Pod, server, authorityFile string) error {
	if err := os.MkdirAll(string(f), privateDir); err != nil {
		return fmt.Errorf("make the directory of pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	authority, err := os.ReadFile(authorityFile)
	if err != nil {
		return fmt.Errorf("read the cluster's authority: %w", err)
	}
	if err := atomicfile.Write(f.authority(), authority, privateMode); err != nil {
		return err
	}
	if err := atomicfile.Write(f.namespace(), []byte(pod.Namespace), privateMode); err != nil {
		return err
	}
	return kubeconfig.Write(f.kubeconfig(), kubeconfig.Access{
		Server: server, CAFile: f.authority(), User: pod.ServiceAccount, Namespace: pod.Namespace, TokenFile: f.token(),
	})
}

func (f Files) writeToken(t token) error {
	return atomicfile.Write(f.token(), []byte(t.value), privateMode)
}

func (f Files) writePID(pid int) error {
	if err := atomicfile.Write(f.pid(), []byte(strconv.Itoa(pid)+"\n"), privateMode); err != nil {
		return err
	}
	return atomicfile.Write(f.started(), []byte(time.Now().UTC().Format(time.RFC3339Nano)+"\n"), privateMode)
}

// removePID is for when the command has ended.
func (f Files) removePID() {
	_ = os.Remove(f.pid()) // it goes with the cluster at the latest
}

// Environment is what the command finds in its environment beyond the
// launcher's own.
func (f Files) Environment(pod Pod) []string {
	return []string{
		"KUBECONFIG=" + f.kubeconfig(),
		"NODE_NAME=" + pod.Node,
		"POD_NAME=" + pod.Name,
		"POD_NAMESPACE=" + pod.Namespace,
		"POD_UID=" + pod.UID,
		"POD_SERVICE_ACCOUNT=" + pod.ServiceAccount,
		"NAMESPACE=" + pod.Namespace,
		"SERVICE_ACCOUNT_DIR=" + string(f),
	}
}
