// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

const (
	// settling is the time for which a new API server may answer wrongly: it has to read permissions, tokens and
	// custom resources first.
	settling = time.Minute
	// asking limits the time for all answers.
	asking = 30 * time.Second
)

// backoff is from one second to 15 seconds, because each node asks.
var backoff = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 5, Cap: 15 * time.Second}

// Begin calls ask, which reads the facts that a process needs before its work, until the API server answers. So a
// process survives an outage at its start: a kubelet restarts a failed process later each time, in the end after five
// minutes. While Begin waits, it answers both probes at address, as the manager will do; "0" switches that off.
func (p *Process) Begin(ctx context.Context, address string, ask func(context.Context) error) error {
	var why atomic.Pointer[string]
	end := func() error { return nil }
	err := p.ask(ctx, ask, func(excuse string) (err error) {
		if why.Swap(&excuse) == nil && address != "" && address != "0" {
			end, err = answerProbes(ctx, address, &why)
		}
		return err
	})
	return errors.Join(err, end())
}

// Ask is [Process.Begin] for a process whose manager already answers probes. It calls away after each missing answer.
func (p *Process) Ask(ctx context.Context, ask func(context.Context) error, away func()) error {
	return p.ask(ctx, ask, func(string) error {
		away()
		return nil
	})
}

func (p *Process) ask(ctx context.Context, ask func(context.Context) error, meanwhile func(why string) error) error {
	var o outage
	return backoff.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (known bool, err error) {
		within, cancel := context.WithTimeout(ctx, asking)
		defer cancel()
		if err = ask(within); err == nil || ctx.Err() != nil {
			return err == nil, err
		}
		excuse := o.excuse(err, p.clock.Now())
		if excuse == "" {
			return false, err
		}
		if isUnanswered(err) {
			p.reach.record(ctx, err.Error())
		}
		if err := meanwhile(excuse + ": " + err.Error()); err != nil {
			return false, err
		}
		klog.FromContext(ctx).Error(err, excuse+"; trying again")
		return false, nil
	})
}

// outage is an outage at the start of a process.
type outage struct {
	seen bool
	back time.Time // the end of the outage; zero while it lasts
}

// excuse returns the reason to try again; empty without a reason.
func (o *outage) excuse(err error, now time.Time) string {
	switch {
	case isUnanswered(err):
		o.seen, o.back = true, time.Time{}
		return "The API server does not answer yet"
	case !o.seen:
		return ""
	case o.back.IsZero():
		o.back = now
	case now.Sub(o.back) > settling:
		return ""
	}
	return "The API server has only just begun to answer"
}

// isUnanswered reports whether the API server was not able to answer. A server with the certificate of another one
// has answered.
func isUnanswered(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		code := status.Status().Code
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
	}
	var unreached *url.Error
	var another *tls.CertificateVerificationError
	return errors.As(err, &unreached) && !errors.As(err, &another)
}

// answerProbes answers until end is called: the process is alive, and cannot work yet.
func answerProbes(ctx context.Context, address string, why *atomic.Pointer[string]) (end func() error, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return func() error { return nil }, fmt.Errorf("answer probes (--health-probe-bind-address): %w", err)
	}
	probes := http.NewServeMux()
	probes.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	probes.HandleFunc("/readyz", func(response http.ResponseWriter, _ *http.Request) {
		http.Error(response, *why.Load(), http.StatusInternalServerError)
	})
	server := &http.Server{Handler: probes, ReadHeaderTimeout: time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	return func() error {
		if err := errors.Join(server.Close(), <-ended); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("answer probes: %w", err)
		}
		return nil
	}, nil
}
