// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/slipway-k8s/slipway/localcluster/internal/process"
)

func TestStateSurvivesTheFile(t *testing.T) {
	dir := Dir(t.TempDir())
	saved := New(Config{
		Nodes:        2,
		FeatureGates: map[string]string{"A": "true"}, ExtraArgs: map[string][]string{"etcd": {"a=b"}}, AuditPolicy: "x",
	}, "1", true)
	saved.Ports["etcd"] = 7
	saved.Components["etcd"] = process.Identity{PID: 1, Started: 2, Boot: "b"}
	saved.SetPod(Pod{Namespace: "a", Name: "b", Command: []string{"old"}})
	saved.SetPod(Pod{Namespace: "a", Name: "b", Command: []string{"c"}})
	if err := saved.Save(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(saved, loaded) || len(loaded.Pods) != 1 {
		t.Errorf("saved %+v\nloaded %+v", saved, loaded)
	}
	info, err := os.Stat(dir.State())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

func TestLoadKnowsItsOwn(t *testing.T) {
	cases := map[string]struct {
		content string
		want    error
	}{
		"no file":                    {"", ErrNone},
		"somebody else's file":       {`{"kind":"Terraform","version":4}`, ErrForeign},
		"a file of a later launcher": {`{"kind":"SlipwayLocalCluster","version":99}`, ErrForeign},
		"no JSON":                    {`]`, ErrForeign},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			dir := Dir(t.TempDir())
			if tc.content != "" {
				if err := os.WriteFile(dir.State(), []byte(tc.content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := Load(dir); !errors.Is(err, tc.want) {
				t.Errorf("got %v, want %v", err, tc.want)
			}
		})
	}
}

func TestSameControlPlane(t *testing.T) {
	base := Config{Nodes: 1, ExtraArgs: map[string][]string{"etcd": {"a=b"}}}
	cases := map[string]struct {
		change func(*Config)
		want   bool
	}{
		"nothing else":   {func(*Config) {}, true},
		"more nodes":     {func(c *Config) { c.Nodes = 9 }, true},
		"a feature gate": {func(c *Config) { c.FeatureGates = map[string]string{"A": "true"} }, false},
		"an argument":    {func(c *Config) { c.ExtraArgs = map[string][]string{"etcd": {"a=c"}} }, false},
		"no argument":    {func(c *Config) { c.ExtraArgs = nil }, false},
		"a policy":       {func(c *Config) { c.AuditPolicy = "x" }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			other := base
			tc.change(&other)
			if got := base.SameControlPlane(other); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}
