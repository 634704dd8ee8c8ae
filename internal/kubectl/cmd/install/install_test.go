// SPDX-License-Identifier: Apache-2.0

package install

import (
	"io"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-k8s/slipway/config"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/installer"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// someRelease is what an installation on a new server consists of.
func someRelease(t *testing.T) release.Release {
	t.Helper()
	r, err := release.New(config.Files, release.Choice{Mode: release.Node, Group: "lifecycle.k8s.io", Mutates: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// leftovers are what an installation with --reduced has besides.
func leftovers(t *testing.T) (items []installer.Item) {
	t.Helper()
	objects, err := release.Leftovers(config.Files, someRelease(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if !strings.Contains(o.GetName(), "central") {
			items = append(items, installer.Item{Object: o, Verdict: release.Delete})
		}
	}
	return items
}

func TestInstallShowsWhatItWouldDo(t *testing.T) {
	everything := someRelease(t).All()
	verdicts := func(verdictOf func(*unstructured.Unstructured) (release.Verdict, string)) (items []installer.Item) {
		for _, o := range everything {
			verdict, conflict := verdictOf(o)
			items = append(items, installer.Item{Object: o, Verdict: verdict, Conflict: conflict})
		}
		return items
	}
	modern := install{server: release.Server{Version: "v1.37.1", Mutates: true}, choice: release.Choice{Mode: release.Node, Group: "lifecycle.k8s.io", Mutates: true}}
	old := install{server: release.Server{Version: "v1.35.4"}, choice: release.Choice{Mode: release.Node, Reduced: true, Group: "slm.slipway.dev"}}
	hosts, unreleased := modern, modern
	hosts.choice.Host = true
	unreleased.whatIsApplied = someRelease(t)
	for name, plan := range map[string]installPlan{
		"with-hosts": planOf(hosts.headline(), verdicts(func(*unstructured.Unstructured) (release.Verdict, string) { return release.Create, "" })[:3]),
		"first":      planOf(unreleased.headline(), verdicts(func(*unstructured.Unstructured) (release.Verdict, string) { return release.Create, "" })),
		"upgrade": planOf(modern.headline(), verdicts(func(o *unstructured.Unstructured) (release.Verdict, string) {
			switch o.GetKind() {
			case "Deployment":
				return release.Change, `Apply failed with 1 conflict: conflict with "kubectl-edit" using apps/v1: .spec.replicas`
			case "DaemonSet", "CustomResourceDefinition":
				return release.Change, ""
			case "PodDisruptionBudget":
				return release.Create, ""
			default:
				return release.Same, ""
			}
		})),
		"no-longer-reduced": planOf(modern.headline(), append(
			verdicts(func(*unstructured.Unstructured) (release.Verdict, string) { return release.Same, "" }), leftovers(t)...)),
		"unchanged":   planOf(modern.headline(), verdicts(func(*unstructured.Unstructured) (release.Verdict, string) { return release.Same, "" })),
		"dry-reduced": planOf(old.headline(), unchecked(release.Release{Objects: everything[:3]})),
	} {
		t.Run(name, func(t *testing.T) {
			clitest.GoldenStyles(t, "install/"+name, func(out io.Writer, style ui.Style) error { return printPlan(out, style, plan) })
			if want := name != "unchanged"; plan.changes() != want {
				t.Errorf("it changes something: %t; want %t", plan.changes(), want)
			}
			if want := name == "upgrade"; plan.conflicts() != want {
				t.Errorf("there are conflicts: %t; want %t", plan.conflicts(), want)
			}
		})
	}
}

// Nobody would put them back: that of plain manifests knows nothing of static pods.
func TestInstallRefusesWhereStaticPodsAreAway(t *testing.T) {
	if err := refuseAway(nil); err != nil {
		t.Errorf("where none is away: %v", err)
	}
	err := refuseAway([]installer.Node{{Name: "worker-1", Away: []string{"kube-system/proxy-worker-1"}}, {Name: "worker-2", Away: []string{"a/b", "a/c"}}})
	if err == nil {
		t.Fatal("it is not refused")
	}
	clitest.Golden(t, "install/static-pods-away", err.Error()+"\n")
}

func TestManifestsArePrintedToBeApplied(t *testing.T) {
	objects := someRelease(t).All()[:1]
	for _, f := range []cli.Format{cli.JSON, cli.YAML} {
		tool, out, _ := clitest.Tool()
		if err := showObjects(tool, &cli.Output{Format: f}, objects); err != nil {
			t.Fatal(err)
		}
		clitest.Golden(t, "install/manifests."+string(f), out.String())
	}
}

func TestUninstallShowsWhatItWouldDo(t *testing.T) {
	var objects []*unstructured.Unstructured
	for _, o := range release.DeletionOrder(someRelease(t).All()) {
		if o.GetKind() != "ClusterRole" {
			objects = append(objects, o)
		}
	}
	idle := installer.Remains{Objects: objects, Nodes: []installer.Node{{Name: "worker-1"}}}
	busy := installer.Remains{
		Objects: objects, Rules: 3, Transitions: 1,
		Maintenances: []installer.Maintenance{{Name: "april"}, {Name: "kernel", InWork: true}, {Name: "may", Holders: []string{"example.com/audit"}}},
		Events:       []installer.Event{{Name: "drain-worker-1", Node: "worker-1", InWork: true}, {Name: "drain-worker-2", Node: "worker-2"}, {Name: "drain-worker-3", Node: "worker-3", Holders: []string{"example.com/audit"}}},
		Foreign:      []string{"Secret registry", "Deployment dashboard"},
		Nodes: []installer.Node{
			{Name: "worker-1", Cordoned: true},
			{Name: "worker-2", Cordoned: true, Others: true},
			{Name: "worker-3"},
			{Name: "worker-4", Cordoned: true, Away: []string{"kube-system/kube-proxy-worker-4", "kube-system/vip-worker-4"}},
		},
	}
	for name, tc := range map[string]struct {
		left    installer.Remains
		refused string
	}{
		"idle":      {idle, ""},
		"busy":      {busy, "NodeMaintenance kernel is in work; NodeMaintenance may is held by example.com/audit; LifecycleEvent drain-worker-1 of node worker-1 is in work; LifecycleEvent drain-worker-3 of node worker-3 is held by example.com/audit; node worker-1 is out of service; node worker-2 is out of service; node worker-4 is out of service; static pods of node worker-4 are away: kube-system/kube-proxy-worker-4, kube-system/vip-worker-4"},
		"kept-crds": {kept(busy, true), "in work"},
	} {
		t.Run(name, func(t *testing.T) {
			clitest.GoldenStyles(t, "uninstall/"+name, func(out io.Writer, style ui.Style) error { return printRemains(out, style, tc.left) })
			err := refuse(tc.left, false)
			if tc.refused == "" && err != nil || tc.refused != "" && (err == nil || !strings.Contains(err.Error(), tc.refused)) {
				t.Errorf("refused: %v; want %q", err, tc.refused)
			}
			if err := refuse(tc.left, true); err != nil {
				t.Errorf("refused in spite of --force: %v", err)
			}
		})
	}
}

func TestUninstallSaysWhatStays(t *testing.T) {
	clitest.Golden(t, "uninstall/farewell", farewell(installer.Remains{}, false))
	clitest.Golden(t, "uninstall/farewell-kept", farewell(installer.Remains{}, true))
	clitest.Golden(t, "uninstall/farewell-spared", farewell(installer.Remains{Foreign: []string{"Secret registry"}}, false))
}

func TestUninstallSaysWhyThereIsNothingToTakeAway(t *testing.T) {
	namespace := release.DeletionOrder(someRelease(t).All())
	going := namespace[len(namespace)-1].DeepCopy()
	going.SetDeletionTimestamp(&metav1.Time{Time: clitest.Noon})
	for name, all := range map[string]installer.Remains{
		"nothing":          {},
		"nothing-spared":   {Foreign: []string{"Secret registry"}},
		"nothing-but-kept": {Objects: []*unstructured.Unstructured{going}},
	} {
		clitest.Golden(t, "uninstall/"+name, nothing(all))
	}
}

func TestInstallTeachesItsFlags(t *testing.T) {
	out, _, _ := execute(t, "install", "--help")
	clitest.Golden(t, "help/install", out)
}

func TestWrongFlagsOfInstallAreUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"install-mode":        {"install", "--mode=both"},
		"install-dry-run":     {"install", "--dry-run=maybe"},
		"install-host-user":   {"install", "--host-user=0"},
		"install-host-nobody": {"install", "--host", "--host-user=-1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errOut, code := execute(t, args...)
			if code != cli.WrongUsage {
				t.Errorf("exit code %d, want %d", code, cli.WrongUsage)
			}
			clitest.Golden(t, "usage/"+name, errOut)
		})
	}
}

func TestInstallAndUninstallOutlastWhoReadsWhatTheyShow(t *testing.T) {
	for _, command := range []string{"install", "uninstall"} {
		t.Run(command, func(t *testing.T) {
			defer signal.Reset(syscall.SIGPIPE)
			execute(t, command, "--yes", "--server=http://127.0.0.1:1", "--kubeconfig=")
			if !signal.Ignored(syscall.SIGPIPE) {
				t.Error("SIGPIPE ends it")
			}
		})
	}
}
