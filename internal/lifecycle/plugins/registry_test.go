// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
	"k8s.io/klog/v2"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

func TestRegister(t *testing.T) {
	t.Run("a driver that was there before, and one that comes later", func(t *testing.T) {
		h := run(t, nil, func(r *Registry) {
			newStranger("early", "/e/1").serve(t, filepath.Join(r.dirs[0], "early-reg.sock"))
		})
		h.awaitRegistered(t, "early")
		newStranger("late", "/e/2").serve(t, filepath.Join(h.dir, "late-reg.sock"))
		got := h.awaitRegistered(t, "late")
		if diff := cmp.Diff(State{Registered: true}, got); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
		h.awaitEndpoint(t, "late", "/e/2")
		if diff := cmp.Diff([]string{"early", "late"}, h.Names()); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
	})

	t.Run("the directory is made, for its owner only", func(t *testing.T) {
		h := run(t, nil)
		newStranger("d", "/e").serve(t, filepath.Join(h.dir, "d", "reg.sock"))
		h.awaitRegistered(t, "d") // in a sub-directory, too
		info, err := os.Stat(h.dir)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o700 {
			t.Errorf("the directory has mode %s", info.Mode())
		}
	})

	t.Run("a driver that is found before it listens", func(t *testing.T) {
		h := run(t, nil)
		early := bindAt(t, filepath.Join(h.dir, "early-reg.sock"))
		newStranger("d", "/e/2").serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitRegistered(t, "d") // by then, the early one has been found
		newStranger("early", "/e/1").serveOn(t, early())
		h.awaitRegistered(t, "early")
	})

	t.Run("the driver is told", func(t *testing.T) {
		h := run(t, nil)
		d := newStranger("d", "/e")
		d.serve(t, filepath.Join(h.dir, "d-reg.sock"))
		if diff := cmp.Diff(&registerapi.RegistrationStatus{PluginRegistered: true}, d.wantStatus(t), protocmp.Transform()); diff != "" {
			t.Errorf("status (-want +got):\n%s", diff)
		}
	})

	t.Run("no endpoint: the registration socket serves both", func(t *testing.T) {
		h := run(t, nil)
		path := filepath.Join(h.dir, "d-reg.sock")
		newStranger("d", "").serve(t, path)
		h.awaitEndpoint(t, "d", path)
	})

	t.Run("a driver that refuses to be registered is not, and is asked again", func(t *testing.T) {
		h := run(t, nil)
		d := newStranger("d", "/e")
		refusals := 2
		d.refuse = func() error {
			if refusals--; refusals >= 0 {
				return errors.New("not yet")
			}
			return nil
		}
		d.serve(t, filepath.Join(h.dir, "d-reg.sock"))
		for range 3 {
			d.wantStatus(t)
		}
		h.awaitRegistered(t, "d")
	})

	t.Run("without file notifications, the next scan finds it", func(t *testing.T) {
		h := run(t, nil, func(r *Registry) {
			r.rescan = 20 * time.Millisecond
			r.newWatcher = func() (*fsnotify.Watcher, error) { return nil, errors.New("too many") }
		})
		newStranger("d", "/e").serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitRegistered(t, "d")
	})
}

func TestRegisterRefuses(t *testing.T) {
	cases := map[string]struct {
		change func(*registerapi.PluginInfo)
		want   string
	}{
		"no name": {
			func(i *registerapi.PluginInfo) { i.Name = "" },
			"plugin name is empty, must be the name of the driver",
		},
		"a name that no transition can have": {
			func(i *registerapi.PluginInfo) { i.Name = "a,b" },
			`plugin name is "a,b", must be lower case letters, digits, '-', '_' and '.', with at most one '/' inside`,
		},
		"a name that is too long": {
			func(i *registerapi.PluginInfo) { i.Name = strings.Repeat("a", 254) },
			"plugin name has 254 characters, must have at most 253",
		},
		"an endpoint that is no path": {
			func(i *registerapi.PluginInfo) { i.Endpoint = "slm.sock" },
			`endpoint is "slm.sock", must be the absolute path of a socket`,
		},
		"no version": {
			func(i *registerapi.PluginInfo) { i.SupportedVersions = nil },
			`supported versions are [], must have "v1alpha1.SLMPlugin" among them`,
		},
		"other versions": {
			func(i *registerapi.PluginInfo) { i.SupportedVersions = []string{"v1.SLMPlugin", "v2"} },
			`supported versions are [v1.SLMPlugin v2], must have "v1alpha1.SLMPlugin" among them`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := run(t, nil)
			d := newStranger("d", "/e")
			tc.change(d.info)
			d.serve(t, filepath.Join(h.dir, "d-reg.sock"))
			want := &registerapi.RegistrationStatus{Error: tc.want}
			if diff := cmp.Diff(want, d.wantStatus(t), protocmp.Transform()); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			if got := h.Names(); got != nil {
				t.Errorf("registered: %v", got)
			}
		})
	}

	t.Run("an endpoint that another has, until that one goes", func(t *testing.T) {
		h := run(t, nil)
		first := filepath.Join(h.dir, "first-reg.sock")
		newStranger("d", "/e").serve(t, first)
		h.awaitRegistered(t, "d")
		second := newStranger("other", "/e")
		second.serve(t, filepath.Join(h.dir, "second-reg.sock"))
		if got := second.wantStatus(t).GetError(); got != "endpoint /e is registered already, by driver d with "+first {
			t.Errorf("status is %q", got)
		}
		remove(t, first)
		h.awaitRegistered(t, "other")
	})
}

// A process with access to the sockets of other drivers must not act as these.
func TestNoDriverTakesTheNameOfAnother(t *testing.T) {
	t.Run("the driver of this process", func(t *testing.T) {
		h := run(t, nil, func(r *Registry) { r.AddInProcess("drain", nil) })
		d := newStranger("drain", "/e")
		d.serve(t, filepath.Join(h.dir, "drain-reg.sock"))
		if got := d.wantStatus(t).GetError(); got != "driver drain runs in the process of the agent: choose another name" {
			t.Errorf("status is %q", got)
		}
		if state := h.Driver("drain"); !state.Registered {
			t.Errorf("the driver of this process is gone: %+v", state)
		}
	})

	t.Run("a driver with a folder", func(t *testing.T) {
		h := run(t, nil)
		own := filepath.Join(h.dir, "example.com~reboot")
		makeDir(t, own)
		newStranger("example.com/reboot", "/own").serve(t, filepath.Join(own, "reg.sock"))
		h.awaitEndpoint(t, "example.com/reboot", "/own")
		foreign := newStranger("example.com/reboot", "/foreign")
		foreign.serve(t, filepath.Join(h.dir, "foreign-reg.sock"))
		if got, want := foreign.wantStatus(t).GetError(), "driver example.com/reboot is registered already, with "+filepath.Join(own, "reg.sock"); !strings.HasPrefix(got, want) {
			t.Errorf("status is %q, want %q", got, want)
		}
		h.awaitEndpoint(t, "example.com/reboot", "/own")
		newStranger("example.com/reboot", "/newer").serve(t, filepath.Join(own, "reg-newer.sock"))
		h.awaitEndpoint(t, "example.com/reboot", "/newer")
	})

	t.Run("from the folder of another", func(t *testing.T) {
		h := run(t, nil)
		foreign := filepath.Join(h.dir, "other")
		makeDir(t, foreign)
		d := newStranger("reboot", "/e")
		d.serve(t, filepath.Join(foreign, "reg.sock"))
		if got := d.wantStatus(t).GetError(); !strings.HasPrefix(got, `plugin name is "reboot", must be the name of the folder of its socket, "other"`) {
			t.Errorf("status is %q", got)
		}
	})

	t.Run("a driver without a folder gives way to one with a folder", func(t *testing.T) {
		h := run(t, nil)
		newStranger("reboot", "/without").serve(t, filepath.Join(h.dir, "reboot-reg.sock"))
		h.awaitEndpoint(t, "reboot", "/without")
		own := filepath.Join(h.dir, "reboot")
		makeDir(t, own)
		newStranger("reboot", "/with").serve(t, filepath.Join(own, "reg.sock"))
		h.awaitEndpoint(t, "reboot", "/with")
	})
}

func makeDir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
}

// The folder of a stock kubelet has plugins that are the kubelet's business: they register with the kubelet, and only the
// kubelet tells them the outcome.
func TestThePluginsOfTheKubeletAreLeftAlone(t *testing.T) {
	lines := make(chan string, 100)
	logger := funcr.New(func(_, line string) { lines <- line }, funcr.Options{})
	kubelet := filepath.Join(tempDir(t), "plugins_registry")
	h := runIn(klog.NewContext(t.Context(), logger), t, nil, func(r *Registry) { r.dirs = append(r.dirs, kubelet) })
	types := []string{"CSIPlugin", "DRAPlugin", "DevicePlugin"}
	var others []*stranger
	for _, kind := range types {
		plugin := newStranger(strings.ToLower(kind)+".example.com", "/e/"+kind)
		plugin.info.Type = kind
		plugin.serve(t, filepath.Join(kubelet, kind+"-reg.sock"))
		others = append(others, plugin)
	}
	newStranger("d", "/e").serve(t, filepath.Join(kubelet, "d-reg.sock"))
	newStranger("own", "/e/own").serve(t, filepath.Join(h.dir, "own-reg.sock"))
	h.awaitRegistered(t, "d")
	h.awaitRegistered(t, "own")

	var said []string
	for range types {
		said = append(said, awaitLine(t, lines, "is not a lifecycle driver"))
	}
	slices.Sort(said)
	for i, kind := range types {
		if !strings.Contains(said[i], `its type is \"`+kind+`\"`) || !strings.Contains(said[i], `"level"=0`) {
			t.Errorf("of the %s, the agent logs %s", kind, said[i])
		}
	}
	if diff := cmp.Diff([]string{"d", "own"}, h.Names()); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
	for _, plugin := range others {
		select {
		case status := <-plugin.statuses:
			t.Errorf("the %s was told %v", plugin.info.GetType(), status)
		default:
		}
	}
}

func TestDeregister(t *testing.T) {
	t.Run("when the socket is removed, at once", func(t *testing.T) {
		clock := stillClock()
		h := run(t, clock)
		path := filepath.Join(h.dir, "d-reg.sock")
		newStranger("d", "/e").serve(t, path)
		h.awaitRegistered(t, "d")
		clock.Step(time.Second)
		remove(t, path)
		got := h.awaitGone(t, "d")
		if diff := cmp.Diff(State{MissingSince: clock.Now()}, got); diff != "" {
			t.Errorf("state (-want +got):\n%s", diff)
		}
	})

	t.Run("when the process is killed, at once, though the socket is still there", func(t *testing.T) {
		clock := stillClock() // no scan and no second attempt finds it
		h := run(t, clock)
		kill := newStranger("d", "/e").serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitRegistered(t, "d")
		kill()
		h.awaitGone(t, "d")
	})

	t.Run("when the directory is removed; it is made again", func(t *testing.T) {
		h := run(t, nil, func(r *Registry) { r.rescan = 50 * time.Millisecond })
		newStranger("d", "/e").serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitRegistered(t, "d")
		if err := os.RemoveAll(h.dir); err != nil {
			t.Fatal(err)
		}
		h.awaitGone(t, "d")
		newStranger("d", "/e2").serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitEndpoint(t, "d", "/e2")
	})

	t.Run("a socket that was made anew is another registration", func(t *testing.T) {
		h := run(t, nil)
		path := filepath.Join(h.dir, "d-reg.sock")
		kill := newStranger("d", "/e").serve(t, path)
		h.awaitRegistered(t, "d")
		kill()
		remove(t, path)
		newStranger("d", "/e2").serve(t, path)
		h.awaitEndpoint(t, "d", "/e2")
	})

	t.Run("a socket that takes the place of one whose process lives on", func(t *testing.T) {
		clock := stillClock()
		h := run(t, clock)
		path := filepath.Join(h.dir, "d-reg.sock")
		newStranger("d", "/e").serve(t, path)
		h.awaitRegistered(t, "d")
		newStranger("d", "/e2").serve(t, path)
		h.awaitEndpoint(t, "d", "/e2")
	})

	t.Run("a driver that takes another name over the same socket has one name", func(t *testing.T) {
		r := New(nil, func() {})
		for _, name := range []string{"one", "two"} {
			if err := r.register(&instance{name: name, endpoint: "/e", socket: socketFile{path: "/s"}}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff([]string{"two"}, r.Names()); diff != "" {
			t.Errorf("names (-want +got):\n%s", diff)
		}
	})
}

func TestMissingSince(t *testing.T) {
	clock := stillClock()
	began := clock.Now()
	h := run(t, clock)
	eventually(t, "it runs", clock.HasWaiters)
	clock.Step(time.Second)
	if got := h.Driver("never seen").MissingSince; !got.Equal(began) {
		t.Errorf("missing since %s, want the start of Run, %s", got, began)
	}
}

func TestUpdate(t *testing.T) {
	h := run(t, nil, func(r *Registry) {
		path := filepath.Join(r.dirs[0], "d-old-reg.sock")
		newStranger("d", "/e/old").serve(t, path)
		// The clock of the file system is too coarse for what is made in a test.
		if err := os.Chtimes(path, time.Time{}, time.Unix(1_700_000_000, 0)); err != nil {
			t.Fatal(err)
		}
	})
	socket := func(name string) string { return filepath.Join(h.dir, name+"-reg.sock") }
	h.awaitEndpoint(t, "d", "/e/old")
	newStranger("d", "/e/new").serve(t, socket("d-new"))
	h.awaitEndpoint(t, "d", "/e/new")

	t.Run("the newest is the newest after a restart of the agent, too", func(t *testing.T) {
		other := run(t, nil, func(r *Registry) { r.dirs = []string{h.dir} })
		other.await(t, "d", "registered twice", func(State) bool {
			other.mu.Lock()
			defer other.mu.Unlock()
			return len(other.instances) == 2
		})
		other.awaitEndpoint(t, "d", "/e/new")
	})
	t.Run("the older one takes over when the newest goes", func(t *testing.T) {
		remove(t, socket("d-new"))
		h.awaitEndpoint(t, "d", "/e/old")
	})
	t.Run("the older one goes first, as it should be", func(t *testing.T) {
		newStranger("d", "/e/new").serve(t, socket("d-newer"))
		h.awaitEndpoint(t, "d", "/e/new")
		remove(t, socket("d-old"))
		h.awaitEndpoint(t, "d", "/e/new")
		remove(t, socket("d-newer"))
		h.awaitGone(t, "d")
	})
}

func TestFrozenRegistration(t *testing.T) {
	h := run(t, nil)
	listenAt(t, filepath.Join(h.dir, "frozen-reg.sock")) // nobody accepts
	newStranger("d", "/e").serve(t, filepath.Join(h.dir, "d-reg.sock"))
	h.awaitRegistered(t, "d") // it does not wait for the frozen one
	if got := h.Names(); !cmp.Equal(got, []string{"d"}) {
		t.Errorf("registered: %v", got)
	}
}

func TestRunFailsWithoutItsDirectory(t *testing.T) {
	file := filepath.Join(tempDir(t), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	err := New([]string{filepath.Join(file, "r")}, func() {}).Run(quiet(t))
	if err == nil || !strings.Contains(err.Error(), "make registration directory") {
		t.Errorf("error is %v", err)
	}
}
