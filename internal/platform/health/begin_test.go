// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
)

var errAway = fmt.Errorf("ask who we are: %w", &url.Error{Op: "Get", URL: "https://10.0.0.1", Err: errors.New("connection refused")})

func TestWhatIsWorthAskingAgain(t *testing.T) {
	status := func(code int) error {
		return fmt.Errorf("list: %w", apierrors.NewGenericServerResponse(code, "get", schema.GroupResource{}, "", "", 0, false))
	}
	for name, tc := range map[string]struct {
		err  error
		want bool
	}{
		"nothing is wrong":           {nil, false},
		"nobody is there":            {errAway, true},
		"the server is not ready":    {status(http.StatusServiceUnavailable), true},
		"the server fails":           {status(http.StatusInternalServerError), true},
		"there are too many who ask": {status(http.StatusTooManyRequests), true},
		"the token is nobody's":      {status(http.StatusUnauthorized), false},
		"it may not be asked":        {status(http.StatusForbidden), false},
		"there is no such API":       {status(http.StatusNotFound), false},
		"something else":             {errors.New("missing rights"), false},
		"it is another's server":     {&url.Error{Op: "Get", Err: &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}}, false},
		"of several, one is":         {errors.Join(errors.New("missing rights"), &apierrors.StatusError{ErrStatus: metav1.Status{Code: 503}}), true},
	} {
		if got := isUnanswered(tc.err); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestAProcessThatBeginsInAnOutageWaitsForItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, asked := time.Now(), 0
		err := New(clock.RealClock{}).Begin(t.Context(), "0", func(context.Context) error {
			asked++
			if time.Since(began) < time.Hour {
				return errAway
			}
			return nil
		})
		if took := time.Since(began); err != nil || took > time.Hour+time.Minute {
			t.Errorf("it goes on %s after the outage: %v", took-time.Hour, err)
		}
		if most := int(time.Hour / (10 * time.Second)); asked > most {
			t.Errorf("it has asked %d times in an hour, want at most %d", asked, most)
		}
	})
}

// What an API server says in its first minute may be wrong; what it still says after that is so.
func TestAProcessDoesNotBelieveAnAPIServerThatHasJustBegun(t *testing.T) {
	forbidden := errors.New("forbidden")
	for name, tc := range map[string]struct {
		settled time.Duration // after the outage
		want    error
	}{
		"it knows our rights after some seconds": {20 * time.Second, nil},
		"we have none":                           {time.Hour, forbidden},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const outage = 10 * time.Minute
				began := time.Now()
				err := New(clock.RealClock{}).Ask(t.Context(), func(context.Context) error {
					switch since := time.Since(began); {
					case since < outage:
						return errAway
					case since < outage+tc.settled:
						return forbidden
					}
					return nil
				}, func() {})
				if took := time.Since(began) - outage; !errors.Is(err, tc.want) || took > 2*settling {
					t.Errorf("%s after the outage: %v, want %v", took, err, tc.want)
				}
			})
		})
	}
}

func TestAProcessThatCannotWorkFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, asked, want := time.Now(), 0, errors.New("missing rights")
		err := New(clock.RealClock{}).Begin(t.Context(), "0", func(context.Context) error {
			asked++
			return want
		})
		if !errors.Is(err, want) || asked != 1 || !time.Now().Equal(began) {
			t.Errorf("it was asked %d times, and fails after %s with %v", asked, time.Since(began), err)
		}
	})
}

func TestAProcessThatIsToEndWhileItWaitsEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		err := New(clock.RealClock{}).Begin(ctx, "0", func(context.Context) error { return errAway })
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != time.Minute {
			t.Errorf("it ends after %s with %v", took, err)
		}
	})
}

// An API server that takes a request and never answers is as one that is away.
func TestAQuestionThatIsNotAnsweredIsAskedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, asked := time.Now(), 0
		err := New(clock.RealClock{}).Ask(t.Context(), func(ctx context.Context) error {
			if asked++; asked == 2 {
				return nil
			}
			<-ctx.Done()
			return &url.Error{Op: "Post", URL: "https://10.0.0.1", Err: ctx.Err()}
		}, func() {})
		if took := time.Since(began); err != nil || took > 2*asking {
			t.Errorf("it took %s: %v", took, err)
		}
	})
}

// The address is the manager's when Begin has returned.
func TestAProcessThatWaitsIsAliveAndSaysWhatFor(t *testing.T) {
	p, address, asked := New(clock.RealClock{}), freeAddress(t), 0
	answers := []error{errAway, nil}
	err := p.Begin(t.Context(), address, func(context.Context) error {
		if asked++; asked > 1 {
			if code, _ := get(t, address, "/healthz"); code != http.StatusOK {
				t.Errorf("its liveness is %d", code)
			}
			if code, text := get(t, address, "/readyz"); code != http.StatusInternalServerError || !strings.Contains(text, errAway.Error()) {
				t.Errorf("its readiness is %d, %q", code, text)
			}
			if p.reach.check() == nil {
				t.Error("by its checks, the API server answers")
			}
		}
		return answers[asked-1]
	})
	if err != nil || asked != len(answers) {
		t.Errorf("it was asked %d times: %v", asked, err)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatalf("nobody else can answer there: %v", err)
	}
	listener.Close()
}
