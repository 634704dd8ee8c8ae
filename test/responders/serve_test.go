// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/slipway-k8s/slipway/responderkit"
)

// serving is a responder that this process serves.
type serving struct {
	t      *testing.T
	cancel context.CancelFunc
	ended  chan error
	log    *log
	// causes are why runs were told to end.
	causes chan error
}

// as is the config of a service account.
func (s *server) as(account string) *rest.Config {
	config := rest.CopyConfig(s.Admin)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: "system:serviceaccount:default:" + account,
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"},
	}
	return config
}

// serve serves the responder until the test ends, or stop.
func (s *scene) serve(run responderkit.RunFunc, change ...func(*responderkit.Config)) *serving {
	s.t.Helper()
	config := responderkit.Config{Name: s.name, RESTConfig: s.as("backup-responder"), Namespace: s.namespace}
	for _, change := range change {
		change(&config)
	}
	v := &serving{t: s.t, ended: make(chan error, 1), log: newLog(), causes: make(chan error, 10)}
	var ctx context.Context
	ctx, v.cancel = context.WithCancel(klog.NewContext(s.t.Context(), v.log.logger()))
	go func() {
		v.ended <- responderkit.Serve(ctx, config, func(ctx context.Context, e responderkit.Eviction, report func(responderkit.Progress)) error {
			err := run(ctx, e, report)
			if ctx.Err() != nil {
				v.causes <- context.Cause(ctx)
			}
			return err
		})
	}()
	s.t.Cleanup(v.stop)
	return v
}

// stop ends the process, as it were. It may be called again.
func (v *serving) stop() {
	v.t.Helper()
	v.cancel()
	if err := <-v.ended; err != nil {
		v.t.Errorf("Serve failed: %v", err)
	}
	v.ended <- nil
	if v.t.Failed() {
		v.t.Logf("the log:\n%s", v.log.text())
	}
}

// untilToldToEnd is a run that does nothing else.
func untilToldToEnd(ctx context.Context, _ responderkit.Eviction, _ func(responderkit.Progress)) error {
	<-ctx.Done()
	return nil
}

// log is what a responder has logged.
type log struct {
	mu      sync.Mutex
	lines   bytes.Buffer
	changed chan struct{}
}

func newLog() *log { return &log{changed: make(chan struct{})} }

func (l *log) logger() klog.Logger {
	return funcr.New(func(prefix, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines.WriteString(prefix + " " + args + "\n")
		close(l.changed)
		l.changed = make(chan struct{})
	}, funcr.Options{})
}

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

// await waits until that was logged.
func (l *log) await(t *testing.T, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for {
		l.mu.Lock()
		lines, changed := l.lines.String(), l.changed
		l.mu.Unlock()
		if strings.Contains(lines, text) {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			t.Fatalf("waiting for %q in the log:\n%s", text, lines)
		}
	}
}
