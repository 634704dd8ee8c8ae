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
	// settling is how long an API server that has just begun may say what is not so: it knows rights,
	// tokens and custom resources only when it has read them.
	settling = time.Minute
	// asking is how long it may take to answer all that is asked.
	asking = 30 * time.Second
)

// Begin asks what a process has to know before it can work, until the API server answers. A process
// that begins in an outage waits for its end: one that fails is started again later each time, in the
// end by five minutes. While it waits, it answers at address as its manager will; "0": nowhere.
func (p *Process) Begin(ctx context.Context, address string, ask func(context.Context) error) error {
	var w waiting
	end := func() error { return nil }
	err := p.ask(ctx, ask, func(why string) (err error) {
		if w.why.Swap(&why) == nil {
			end, err = w.serve(ctx, address)
		}
		return err
	})
	return errors.Join(err, end())
}

// Ask is [Process.Begin], for a process whose manager answers already. It calls away whenever there
// was no answer.
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
			p.reach.say(ctx, err.Error())
		}
		if err := meanwhile(excuse + ": " + err.Error()); err != nil {
			return false, err
		}
		klog.FromContext(ctx).Error(err, excuse+"; it is asked again")
		return false, nil
	})
}

// backoff is from a second to a quarter of a minute: each node asks.
var backoff = wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.5, Steps: 5, Cap: 15 * time.Second}

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

// isUnanswered says whether the API server was not there to answer, or not able to. One that is not
// the right one is no such: by its certificate, it is another's.
func isUnanswered(err error) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		code := status.Status().Code
		return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
	}
	var unreached *url.Error
	var another *tls.CertificateVerificationError
	return errors.As(err, &unreached) && !errors.As(err, &another)
}

// waiting answers probes: the process lives, and cannot work yet.
type waiting struct{ why atomic.Pointer[string] }

func (w *waiting) serve(ctx context.Context, address string) (end func() error, err error) {
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
	probes.HandleFunc("/readyz", func(response http.ResponseWriter, _ *http.Request) {
		http.Error(response, *w.why.Load(), http.StatusInternalServerError)
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
