// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/types/known/durationpb"
	"k8s.io/klog/v2"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
	"github.com/slipway-k8s/slipway/driverkit"
	"github.com/slipway-k8s/slipway/internal/lifecycle/plugins"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

func shell(script string) command { return command{"sh", "-c", script} }

func TestCommand(t *testing.T) {
	call := driverkit.Call{Node: "n1", Event: "a", EventUID: "u", Parameters: []byte(`{"x":1}`)}
	cases := map[string]struct {
		command     command
		wantErr     string
		wantMessage string
	}{
		"status 0 is the end":              {shell("echo one; echo two"), "", "two"},
		"another status is a failure":      {shell("echo one; echo two >&2; exit 3"), "sh: exit status 3: two", "two"},
		"a command that there is not":      {command{"/no/such/command"}, "/no/such/command: fork/exec /no/such/command: no such file or directory: ", ""},
		"it knows what it is run for":      {shell(`echo $NODE_NAME $EVENT_NAME $EVENT_UID $PARAMETERS`), "", `n1 a u {"x":1}`},
		"a line that is too long is borne": {shell(`head -c 200000 /dev/zero | tr '\0' x; echo; echo end`), "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			message := ""
			err := tc.command.run(t.Context(), call, func(answer driverkit.Answer) { message = answer.Message })
			if got := errorText(err); got != tc.wantErr {
				t.Errorf("error is %q, want %q", got, tc.wantErr)
			}
			if message != tc.wantMessage {
				t.Errorf("message is %q, want %q", message, tc.wantMessage)
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

func TestCommandIsTerminated(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var messages []string
	// The sleep is a process of its own, which has to end as well: it holds the output.
	err := shell("trap 'echo terminated; exit 1' TERM; sh -c 'echo ready; exec sleep 1000' & wait").run(ctx, driverkit.Call{},
		func(answer driverkit.Answer) {
			messages = append(messages, answer.Message)
			cancel()
		})
	if !errors.Is(err, context.Canceled) && !strings.Contains(errorText(err), "exit status 1") {
		t.Errorf("error is %v", err)
	}
	if got := strings.Join(messages, " "); got != "ready terminated" {
		t.Errorf("messages are %q", got)
	}
}

func TestRunRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no command": {[]string{"--node-name", "n1"}, "no command given"},
		"no node":    {[]string{"--node-name", "", "true"}, "NodeName: is required"},
		"a file that is no kubeconfig": {
			[]string{"--node-name", "n1", "--kubeconfig", "/no/such/file", "true"}, "/no/such/file",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), tc.args); !strings.Contains(errorText(err), tc.want) {
				t.Errorf("error is %v, want one with %q", err, tc.want)
			}
		})
	}
}

// TestWalk is an event from the registration of the driver to its end.
func TestWalk(t *testing.T) {
	dir, err := os.MkdirTemp("", "cmd") // t.TempDir's path is too long for sockets
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), logr.Discard()))
	registered := make(chan struct{}, 10)
	registry := plugins.New([]string{filepath.Join(dir, "r")}, func() { registered <- struct{}{} })
	ended := make(chan error, 2)
	go func() { ended <- registry.Run(ctx) }()
	go func() {
		ended <- run(ctx, []string{
			"--node-name", "n1", "--datadir", filepath.Join(dir, "p"), "--plugin-registration-path", filepath.Join(dir, "r"),
			"--", "sh", "-c", "echo updated",
		})
	}()
	<-registered

	if got := walk(t, registry); got != "updated" {
		t.Errorf("the last message is %q", got)
	}
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func walk(t *testing.T, registry *plugins.Registry) (lastMessage string) {
	t.Helper()
	client, err := registry.Client(name)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := client.StartLifecycleTransition(t.Context(), &driverv1.StartLifecycleTransitionRequest{
		TransitionName: name, EventName: "a", EventUid: "u", Start: "command-started", End: "command-finished",
	})
	for err == nil && answer.GetError() == "" && answer.GetLifecycleCondition() == "command-started" {
		answer, err = client.EndLifecycleTransition(t.Context(), &driverv1.EndLifecycleTransitionRequest{
			TransitionName: name, EventName: "a", EventUid: "u", Start: "command-started", End: "command-finished",
			Wait: durationpb.New(30 * time.Second),
		})
	}
	if err != nil || answer.GetError() != "" {
		t.Fatalf("it failed: %v %s", err, answer.GetError())
	}
	return answer.GetMessage()
}
