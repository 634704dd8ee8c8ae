// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/responderkit"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func evictionOf(readPod error) responderkit.Eviction {
	return responderkit.Eviction{
		Namespace: "shop", Name: "pod-1-cart-0", PodName: "cart-0", PodUID: "u",
		ReadPod: func(context.Context) (*corev1.Pod, error) { return &corev1.Pod{}, readPod },
	}
}

func TestBackUp(t *testing.T) {
	for name, tc := range map[string]struct {
		script, wantErr, wantMessage string
		readPod                      error
	}{
		"it is told of the pod": {
			script:      `test "{namespace} {pod} {uid}" = "shop cart-0 u"`,
			wantMessage: "the backup is complete",
		},
		"a failure is said in the command's words": {
			script: "echo no space left; exit 3", wantErr: "sh: exit status 3: no space left",
			wantMessage: "running sh -c echo no space left; exit 3",
		},
		"another pod is not backed up":           {script: "exit 3", readPod: responderkit.ErrPodGone},
		"a pod that cannot be read is a failure": {script: "true", readPod: errors.New("the server is down"), wantErr: "the server is down"},
	} {
		t.Run(name, func(t *testing.T) {
			message := ""
			err := command{"sh", "-c", tc.script}.backUp(t.Context(), evictionOf(tc.readPod), func(p responderkit.Progress) { message = p.Message })
			if got := errorText(err); got != tc.wantErr {
				t.Errorf("the error is %q, want %q", got, tc.wantErr)
			}
			if message != tc.wantMessage {
				t.Errorf("the last message is %q, want %q", message, tc.wantMessage)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestTheCommandEndsWithTheTurn(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	fifo := filepath.Join(t.TempDir(), "ready")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	// The sleep is a process of its own, which has to end as well: it holds the output.
	script := "trap 'echo terminated; exit 1' TERM; sh -c 'echo ready > " + fifo + "; exec sleep 1000' & wait"
	go func() {
		ended <- command{"sh", "-c", script}.backUp(ctx, evictionOf(nil), func(responderkit.Progress) {})
	}()
	if _, err := os.ReadFile(fifo); err != nil { // when the script has written it
		t.Fatal(err)
	}
	cancel(responderkit.ErrCanceled)
	if err := <-ended; !strings.Contains(errorText(err), "terminated") {
		t.Errorf("the error is %v", err)
	}
}

func TestRunRefuses(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte("clusters: [{name: a, cluster: {server: https://127.0.0.1:1}}]\ncontexts: [{name: a, context: {cluster: a}}]\ncurrent-context: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no command":                   {nil, "no command given"},
		"a file that is no kubeconfig": {[]string{"--kubeconfig", "/no/such/file", "true"}, "/no/such/file"},
		"a name that is none":          {[]string{"--kubeconfig", kubeconfig, "--name", "backup", "true"}, "Name: "},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), tc.args); !strings.Contains(errorText(err), tc.want) {
				t.Errorf("the error is %v, want one with %q", err, tc.want)
			}
		})
	}
}
