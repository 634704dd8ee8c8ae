// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"strings"
	"testing"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/client-go/rest"
)

func TestConfig(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Config)
		want   string
	}{
		"a good one":                           {func(*Config) {}, ""},
		"one namespace":                        {func(c *Config) { c.Namespace = "shop" }, ""},
		"Kubernetes' own, which Slipway plays": {func(c *Config) { c.Name = evictionv1alpha1.EvictionResponderImperativeEviction }, ""},
		"no name":                              {func(c *Config) { c.Name = "" }, "Name: is required"},
		"a name without domain":                {func(c *Config) { c.Name = "backup" }, `Name: "backup" must be a domain-prefixed key (as acme.io/foo): must include a prefix`},
		"no key at all":                        {func(c *Config) { c.Name = "a b/c" }, `Name: "a b/c" must be a domain-prefixed key`},
		"a name of Kubernetes":                 {func(c *Config) { c.Name = "deployment.apps.k8s.io/x" }, "is in a domain that is reserved for Kubernetes"},
		"its domain itself":                    {func(c *Config) { c.Name = "kubernetes.io/x" }, "is in a domain that is reserved for Kubernetes"},
		"a domain that only looks like it":     {func(c *Config) { c.Name = "mak8s.io/x" }, ""},
		"no server":                            {func(c *Config) { c.RESTConfig = nil }, "RESTConfig: is required"},
		"no namespace's name":                  {func(c *Config) { c.Namespace = "a/b" }, `Namespace: "a/b" `},
		"less than no runs":                    {func(c *Config) { c.MaxRuns = -1 }, "MaxRuns: -1 must not be negative"},
		"all that is wrong":                    {func(c *Config) { *c = Config{} }, "Name: is required\nRESTConfig: is required"},
	} {
		t.Run(name, func(t *testing.T) {
			config := Config{Name: own, RESTConfig: &rest.Config{Host: "https://127.0.0.1:1"}}
			tc.change(&config)
			err := config.Validate()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, want %q", err, tc.want)
			}
		})
	}
}

func TestServeRefuses(t *testing.T) {
	run := func(context.Context, Eviction, func(Progress)) error { return nil }
	for name, tc := range map[string]struct {
		config Config
		run    RunFunc
		want   string
	}{
		"a config that is not valid": {Config{Name: own}, run, "responder " + own + ": invalid config: RESTConfig: is required"},
		"to run nothing":             {Config{Name: own, RESTConfig: &rest.Config{}}, nil, "responder " + own + ": the RunFunc is missing"},
		"a server that is none":      {Config{Name: own, RESTConfig: &rest.Config{Host: "://"}}, run, "responder " + own + ": build client: "},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Serve(quiet(t), tc.config, tc.run); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("the error is %v, want %q", err, tc.want)
			}
		})
	}
}
