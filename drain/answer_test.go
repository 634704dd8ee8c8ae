// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func withCause(err *apierrors.StatusError, cause metav1.CauseType, message string) error {
	if err.ErrStatus.Details == nil {
		err.ErrStatus.Details = &metav1.StatusDetails{}
	}
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: cause, Message: message})
	return err
}

// denied is the answer of an admission webhook, which chooses the code.
func denied(code int32) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: map[int32]metav1.StatusReason{
			http.StatusTooManyRequests: metav1.StatusReasonTooManyRequests,
			http.StatusNotFound:        metav1.StatusReasonNotFound,
			http.StatusConflict:        metav1.StatusReasonConflict,
		}[code],
		Message: `admission webhook "evictions.example.test" denied the request: the machine is moved first`,
	}}
}

func TestInterpret(t *testing.T) {
	pods := corev1.Resource("pods")
	_, nobodyAnswers := (&net.Dialer{Deadline: time.Unix(1, 0)}).DialContext(t.Context(), "tcp", "127.0.0.1:1") // as where packets are dropped
	cases := map[string]struct {
		err        error
		want       outcome
		reason     Reason
		by         string
		retryAfter time.Duration
	}{
		"created":                              {nil, accepted, "", "", 0},
		"not sent":                             {fmt.Errorf("evict: %w", errNotSent), notSent, "", "", 0},
		"no such pod":                          {apierrors.NewNotFound(pods, "p"), vanished, "", "", 0},
		"another UID":                          {apierrors.NewConflict(pods, "p", errors.New("UID")), vanished, "", "", 0},
		"the budget is used up":                {withCause(apierrors.NewTooManyRequests("no", 0), policyv1.DisruptionBudgetCause, "needs 2"), budgetRefused, BudgetExhausted, "b", 0},
		"the budget is being processed":        {withCause(apierrors.NewTooManyRequests("no", 10), policyv1.DisruptionBudgetCause, "busy"), budgetRefused, BudgetExhausted, "b", 0},
		"the budget is broken":                 {withCause(apierrors.NewForbidden(pods, "p", errors.New("negative")), policyv1.DisruptionBudgetCause, "negative"), budgetRefused, BudgetExhausted, "b", 0},
		"too many requests, without a cause":   {apierrors.NewTooManyRequests("slow down", 7), overloaded, APIServerOverloaded, "", 7 * time.Second},
		"the namespace is being deleted":       {withCause(apierrors.NewForbidden(pods, "p", errors.New("terminating")), corev1.NamespaceTerminatingCause, ""), namespaceEnding, NamespaceTerminating, "default", 0},
		"a webhook says no":                    {apierrors.NewForbidden(pods, "p", errors.New(`admission webhook "x" denied the request`)), refused, EvictionRefused, "", 0},
		"a webhook says later":                 {denied(http.StatusTooManyRequests), refused, EvictionRefused, "", 0},
		"a webhook says that there is none":    {denied(http.StatusNotFound), refused, EvictionRefused, "", 0},
		"a webhook says that there is another": {denied(http.StatusConflict), refused, EvictionRefused, "", 0},
		"many write the budget":                {apierrors.NewConflict(policyv1.Resource("poddisruptionbudgets"), "b", errors.New("modified")), budgetRefused, EvictionTimedOut, "", 0},
		"a webhook fails":                      {apierrors.NewInternalError(errors.New("failed calling webhook")), refused, EvictionRefused, "", 0},
		"two budgets":                          {apierrors.NewGenericServerResponse(500, "create", pods, "p", "more than one", 0, true), refused, EvictionRefused, "", 0},
		"no rights":                            {apierrors.NewUnauthorized("who are you"), refused, EvictionRefused, "", 0},
		"the server is starting":               {apierrors.NewServiceUnavailable("starting"), unavailable, APIServerUnavailable, "", 0},
		"the server asks to try again":         {apierrors.NewServerTimeout(pods, "create", 1), unavailable, APIServerUnavailable, "", 0},
		"the server gave up over conflicts":    {apierrors.NewTimeoutError("couldn't update", 10), refused, EvictionTimedOut, "", 0},
		"the request took too long":            {&url.Error{Op: "Post", Err: context.DeadlineExceeded}, refused, EvictionTimedOut, "", 0},
		"nobody listens":                       {&url.Error{Op: "Post", Err: syscall.ECONNREFUSED}, unavailable, APIServerUnavailable, "", 0},
		"nobody answers on the way":            {&url.Error{Op: "Post", Err: nobodyAnswers}, unavailable, APIServerUnavailable, "", 0},
		"the proxy cannot be reached":          {&url.Error{Op: "Post", Err: &net.OpError{Op: "proxyconnect", Net: "tcp", Err: nobodyAnswers}}, unavailable, APIServerUnavailable, "", 0},
		"an answer that is not the API's":      {apierrors.NewGenericServerResponse(http.StatusBadGateway, "create", pods, "p", "bad gateway", 0, true), refused, EvictionRefused, "", 0},
		"the drain was cut off while it waits": {context.Canceled, unavailable, APIServerUnavailable, "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := interpret(tc.err, newPod("p"), []*budget{newPDB("b")})
			if got.outcome != tc.want || got.retryAfter != tc.retryAfter {
				t.Errorf("got outcome %d after %s, want %d after %s", got.outcome, got.retryAfter, tc.want, tc.retryAfter)
			}
			var refusal obstacle
			if got.refusal != nil {
				refusal = *got.refusal
			}
			if refusal.reason != tc.reason || refusal.by != tc.by {
				t.Errorf("got reason %q by %q, want %q by %q", refusal.reason, refusal.by, tc.reason, tc.by)
			}
		})
	}
}

func TestBriefCutsAtARune(t *testing.T) {
	got := brief(errors.New(strings.Repeat("x", 399) + "äöü"))
	if want := strings.Repeat("x", 399) + "…"; got != want {
		t.Errorf("got %q", got)
	}
}
