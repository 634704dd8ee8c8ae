// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/test/harness"
)

// run runs kubectl slipway lease, and gives what it prints and its exit code.
func (s *scene) run(t *testing.T, arguments ...string) (out string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), harness.Binary(t, "kubectl-slipway"), append([]string{"lease"}, arguments...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+s.Facts.Kubeconfig)
	var printed bytes.Buffer
	command.Stdout, command.Stderr = &printed, &printed
	err := command.Run()
	if ended, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || !ended.Exited()) {
		t.Fatalf("%v: %v\n%s", arguments, err, &printed)
	}
	return printed.String(), command.ProcessState.ExitCode()
}

// wants runs it, and wants a code and a text.
func (s *scene) wants(t *testing.T, code int, text string, arguments ...string) {
	t.Helper()
	if out, got := s.run(t, arguments...); got != code || !strings.Contains(out, text) {
		t.Errorf("%v: exit code %d, want %d with %q; it prints\n%s", arguments, got, code, text, out)
	}
}

func byHand(t *testing.T, s *scene) {
	s.node(t, "handmade")
	s.wants(t, cli.Done, "its lease is free", "get", "handmade")
	s.wants(t, cli.Done, "it never expires; release it with 'kubectl slipway lease release handmade'",
		"acquire", "handmade", "--administrator", "--purpose", "new disk")
	s.wants(t, cli.Done, "an administrator: new disk", "get", "handmade")
	s.wants(t, cli.Done, `"administrator": true`, "get", "handmade", "-o", "json")
	s.wants(t, cli.Done, "released", "list")
	s.wants(t, cli.Held, `is held by "kubeadmin-`, "acquire", "handmade", "--holder", "fwup.example.com")
	s.wants(t, cli.Done, "has released its lease", "release", "handmade")
	s.wants(t, cli.Done, "until ", "acquire", "handmade", "--holder", "fwup.example.com", "--duration", "10m")
	s.wants(t, cli.Done, "until ", "acquire", "handmade", "--holder", "fwup.example.com", "--duration", "20m")
	s.wants(t, cli.Held, "--force breaks it", "release", "handmade")
	s.wants(t, cli.Done, "its lease is broken, which fwup.example.com held", "release", "handmade", "--force")
	s.wants(t, cli.Done, "its lease is free", "release", "handmade")
}

func aCommandRuns(t *testing.T, s *scene) {
	s.node(t, "run")
	tool := harness.Binary(t, "kubectl-slipway")
	s.wants(t, 7, "held by fwup: flash", "acquire", "run", "--holder=fwup", "--purpose=flash", "--", "sh", "-c", tool+" lease get run; exit 7")
	s.wants(t, cli.Done, "its lease is free", "get", "run")
	s.wants(t, cli.Done, "", "acquire", "run", "--", "true")
	s.wants(t, cli.Done, "its lease is free", "get", "run")
}

func aCommandIsEnded(t *testing.T, s *scene) {
	s.node(t, "ended")
	command := harness.StartProcess(t, "kubectl-slipway", []string{"KUBECONFIG=" + s.Facts.Kubeconfig}, harness.Binary(t, "kubectl-slipway"),
		"lease", "acquire", "ended", "--holder=fwup", "--duration=3s", "--", "sh", "-c", "sleep 1000 & trap 'kill $! 2>/dev/null; echo told to end; exit 0' TERM; echo it works; wait")
	command.AwaitLog("it works")
	s.wants(t, cli.Done, "its lease is broken", "release", "ended", "--force")
	if said := command.AwaitExit(); !strings.Contains(said, "told to end") || !strings.Contains(said, "the command was ended: keep the lease of node ended: the lease is lost") {
		t.Errorf("it says\n%s", said)
	}
}
