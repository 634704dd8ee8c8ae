// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/layout"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
)

func TestStateSurvivesTheFile(t *testing.T) {
	dir := layout.Dir(t.TempDir())
	saved := New(Config{
		Nodes: 2, NodeNamePrefix: "n", NodeCapacity: map[string]string{"cpu": "1"},
		FeatureGates: map[string]string{"A": "true"}, ExtraArgs: map[string][]string{"etcd": {"a=b"}}, AuditPolicy: "x",
	}, "M=1", true)
	saved.Ports["etcd"] = 7
	saved.SetComponent(Component{Name: "etcd", Process: process.Identity{PID: 1, Started: 2, Boot: "b"}, Log: "l"})
	saved.SetPod(Pod{Namespace: "a", Name: "b", Command: []string{"c"}})
	if err := saved.Save(dir); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(saved, loaded) {
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
			dir := layout.Dir(t.TempDir())
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

func TestSetComponentReplaces(t *testing.T) {
	st := New(Config{}, "", false)
	st.SetComponent(Component{Name: "a", Log: "old"})
	st.SetComponent(Component{Name: "b"})
	st.SetComponent(Component{Name: "a", Log: "new"})
	got, found := st.Component("a")
	if !found || got.Log != "new" || len(st.Components) != 2 {
		t.Errorf("components %+v", st.Components)
	}
	if _, found := st.Component("c"); found {
		t.Error("found a component that was never set")
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

func TestLockHoldsOthersOff(t *testing.T) {
	dir := layout.Dir(t.TempDir())
	first, err := Acquire(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 120*time.Millisecond)
	defer cancel()
	if _, err := Acquire(ctx, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a second lock: %v, want to wait in vain", err)
	}
	first.Release()
	second, err := Acquire(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	second.Release()
}

// Down removes the directory while others wait for its lock. A lock on what is
// no longer there would keep nobody off.
func TestLockIsOnTheDirectoryThatIsThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c")
	dir := layout.Dir(path)
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	old, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = old.Close() }()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if stillThere(old, dir) {
		t.Error("the removed directory counts as the one that is there")
	}
}
