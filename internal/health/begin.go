// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
)

// settling is how long an API server that has just begun may say what is not so: it knows rights,
// tokens and custom resources only when it has read them.
const settling = time.Minute

// Begin asks what a process has to know before it can work, until the API server answers. A process
// that begins in an outage waits for its end: one that fails is started again later each time, in the
// end by five minutes. While it waits, it answers at address as its manager will; "0": nowhere.
func (p *Process) Begin(ctx context.Context, address string, ask func(context.Context) error) error {
	end := func() error { return nil }
	err := p.ask(ctx, ask, func() (err error) {
		end, err = serveWaiting(ctx, address)
		return err
	})
	return errors.Join(err, end())
}

// Ask is [Process.Begin], for a process whose manager answers already.
func (p *Process) Ask(ctx context.Context, ask func(context.Context) error) error {
	return p.ask(ctx, ask, func() error { return nil })
}

// ask calls away when there was no answer for the first time.
func (p *Process) ask(ctx context.Context, ask func(context.Context) error, away func() error) error {
	var o outage
	// From a second to a quarter of a minute: each node asks.
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 5, Cap: 15 * time.Second}
	return backoff.DelayFunc().Until(ctx, true, true, func(ctx context.Context) (known bool, err error) {
		if err = ask(ctx); err == nil || ctx.Err() != nil {
			return err == nil, err
		}
		first := !o.seen
		excuse := o.excuse(err, p.clock.Now())
		if excuse == "" {
			return false, err
		}
		if first {
			if err := away(); err != nil {
				return false, err
			}
		}
		klog.FromContext(ctx).Info(excuse+"; it is asked again", "reason", err.Error())
		return false, nil
	})
}

// outage is what a process has seen of one that it begins in.
type outage struct {
	seen bool
	back time.Time // since when the API server answers; zero: it does not
}

// excuse says why it may be otherwise another time; empty: it will not.
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

// isUnanswered says whether the API server was not there to answer, or not able to.
func isUnanswered(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		code := status.Status().Code
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
	}
	var unreached *url.Error
	return errors.As(err, &unreached)
}

// serveWaiting answers probes: the process lives, and cannot work yet.
func serveWaiting(ctx context.Context, address string) (end func() error, err error) {
	none := func() error { return nil }
	if address == "" || address == "0" {
		return none, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return none, fmt.Errorf("answer probes (--health-probe-bind-address): %w", err)
	}
	probes := http.NewServeMux()
	probes.HandleFunc("/healthz", func(http.ResponseWriter, *http.Request) {})
	probes.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the API server has not answered since this process began", http.StatusInternalServerError)
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
