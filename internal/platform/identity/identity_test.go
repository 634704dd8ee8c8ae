// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/client-go/rest"
)

// serverFor is an API server that takes everybody for the given user.
func serverFor(t *testing.T, user authenticationv1.UserInfo) *rest.Config {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		review := authenticationv1.SelfSubjectReview{Status: authenticationv1.SelfSubjectReviewStatus{UserInfo: user}}
		review.APIVersion, review.Kind = "authentication.k8s.io/v1", "SelfSubjectReview"
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(s.Close)
	return &rest.Config{Host: s.URL, BearerToken: "own"}
}

func boundTo(node string) authenticationv1.UserInfo {
	return authenticationv1.UserInfo{
		Username: "system:serviceaccount:slipway-system:agent",
		Extra:    map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {node}},
	}
}

func TestAProcessActsAsItsNodeByItsCredentials(t *testing.T) {
	for name, tc := range map[string]struct {
		user            authenticationv1.UserInfo
		want            string // whom it acts as
		wantImpersonate string
		wantError       string
	}{
		"a token that names the node": {
			user: boundTo("worker-1"), want: "system:node:worker-1", wantImpersonate: "system:node:worker-1",
		},
		"a token that names another node": {
			user: boundTo("worker-2"), wantError: `the token of system:serviceaccount:slipway-system:agent names node "worker-2", not node "worker-1"`,
		},
		"a token that names no node": {
			user:      authenticationv1.UserInfo{Username: "system:serviceaccount:default:default"},
			wantError: `the token of system:serviceaccount:default:default names no node: it must be bound to a pod on node "worker-1"`,
		},
		"a kubelet's certificate": {
			user: authenticationv1.UserInfo{Username: "system:node:worker-1"}, want: "system:node:worker-1",
		},
		"another kubelet's certificate": {
			user:      authenticationv1.UserInfo{Username: "system:node:worker-2"},
			wantError: `the credentials belong to system:node:worker-2, not to node "worker-1"`,
		},
		"a developer's kubeconfig": {
			user: authenticationv1.UserInfo{Username: "alice", Groups: []string{"system:masters"}}, want: "alice",
		},
	} {
		t.Run(name, func(t *testing.T) {
			self := serverFor(t, tc.user)
			config, user, err := For(t.Context(), self, "worker-1", ActAsNode)
			if tc.wantError != "" {
				if err == nil || err.Error() != tc.wantError {
					t.Errorf("got error %v; want %q", err, tc.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if user != tc.want || config.Impersonate.UserName != tc.wantImpersonate || config.BearerToken != "own" {
				t.Errorf("acts as %q, impersonates %q; want %q, %q", user, config.Impersonate.UserName, tc.want, tc.wantImpersonate)
			}
			if self.Impersonate.UserName != "" {
				t.Error("its own credentials impersonate somebody now")
			}
		})
	}
}

func TestCredentialsComeFromTheFlagThenTheEnvironment(t *testing.T) {
	dir := t.TempDir()
	write := func(name, host string) string {
		path := filepath.Join(dir, name)
		text := `{"apiVersion":"v1","kind":"Config","clusters":[{"name":"c","cluster":{"server":"` + host + `"}}],` +
			`"contexts":[{"name":"x","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}],"current-context":"x"}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	flag, environment := write("flag", "https://flag"), write("environment", "https://environment")
	for name, tc := range map[string]struct{ kubeconfig, variable, want, wantError string }{
		"the flag":              {flag, environment, "https://flag", ""},
		"the environment":       {"", environment, "https://environment", ""},
		"a file that is not":    {filepath.Join(dir, "none"), "", "", "load the credentials of the process"},
		"nothing, not in a pod": {"", "", "", "load the credentials of the process"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("KUBECONFIG", tc.variable)
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			config, err := Self(tc.kubeconfig, 5, 7)
			if tc.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantError) {
					t.Errorf("got error %v; want %q", err, tc.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if config.Host != tc.want || config.QPS != 5 || config.Burst != 7 {
				t.Errorf("got %s with %v and %d requests; want %s with 5 and 7", config.Host, config.QPS, config.Burst, tc.want)
			}
		})
	}
}
