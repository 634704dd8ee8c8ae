// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// theThree are the commands between a cluster without Slipway and a node that was drained
// and returned. README.md has them as well.
const theThree = "kubectl slipway install\nkubectl slipway drain worker-1\nkubectl slipway uncordon worker-1"

// The how-tos are about the cluster of the first drain: they are followed on it, before it
// is taken down.
func TestANewcomerDrainsAndReturnsANodeInThreeCommandsAndFollowsTheHowTos(t *testing.T) {
	t.Parallel()
	const page = "docs/first-drain.md"
	for _, p := range []string{page, "README.md"} {
		if !slices.Contains(blocks(t, p), theThree) {
			t.Fatalf("%s has no block of these commands:\n%s", p, theThree)
		}
	}
	n := newNewcomer(t)
	for _, block := range blocks(t, page) {
		switch {
		case block == theThree:
			for line := range strings.Lines(block) {
				n.types(line)
				n.finds(strings.Fields(line)[2])
			}
		case strings.Contains(block, "make up"):
			n.types(block)
			n.types(quickPods)
		case strings.Contains(block, "make down"):
			n.followsTheHowTos()
			n.types(block)
		default:
			n.types(block)
		}
	}
	if !n.followed {
		t.Errorf("%s does not take the cluster down", page)
	}
	if _, err := os.Stat(filepath.Join(n.home, ".local")); !os.IsNotExist(err) {
		t.Errorf("make down has left something: %v", err)
	}
}

// newcomer has a copy of the repository, with nothing but what is built in it, as make builds it.
type newcomer struct {
	t    *testing.T
	home string
	told *transcript
	// exported is what they have exported into their shell.
	exported string
	// followed: the how-tos.
	followed bool
}

// looks are what people type when something has gone wrong.
const looks = `kubectl get nodes,pods,jobs,lifecycleevents -A -o wide
kubectl slipway maintenance status
kubectl get nodemaintenances -o jsonpath='{range .items[*]}{.metadata.name}{"\n"}{.status}{"\n"}{end}'
`

// shim is make, without building: the test has built what make would build.
const shim = `make() {
  case "$*" in
  'up SLIPWAY=no') bin/dev up --nodes 5 --slipway=false ;;
  'down') bin/dev down ;;
  *) echo "the test knows no make $*" >&2; return 2 ;;
  esac
}
`

func newNewcomer(t *testing.T) *newcomer {
	t.Helper()
	// Short, because unix sockets are in it.
	home, err := os.MkdirTemp("", "new")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	bin := filepath.Join(home, "bin")
	if err := os.Mkdir(bin, 0o700); err != nil {
		t.Fatal(err)
	}
	launcher, err := devcluster.FindLauncher()
	if err != nil {
		t.Fatal(err)
	}
	links := map[string]string{filepath.Join(bin, "localcluster"): launcher}
	for _, name := range []string{"config", "dev", "docs"} {
		links[filepath.Join(home, name)] = harness.File(t, name)
	}
	for link, to := range links {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	n := &newcomer{t: t, home: home, told: newTranscript(t)}
	n.build("go", "build", "-o", bin+"/", "./cmd/node-agent", "./cmd/controller", "./cmd/kubectl-slipway", "./dev")
	n.build(launcher, "build", "--link-kubectl", filepath.Join(bin, "kubectl"))
	t.Cleanup(func() { n.types("make down") }) // after a failure; else there is nothing
	return n
}

// build runs a command in the repository.
func (n *newcomer) build(program string, args ...string) {
	n.t.Helper()
	command := exec.Command(program, args...)
	command.Dir = harness.File(n.t)
	if out, err := command.CombinedOutput(); err != nil {
		n.t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
}

// types types commands into the terminal, and returns what is on the screen then.
func (n *newcomer) types(commands string) (screen string) {
	n.t.Helper()
	return n.typesUntil("", commands)
}

// typesUntil types Ctrl-C when the screen shows enough, if that is not empty.
func (n *newcomer) typesUntil(enough, commands string) (screen string) {
	n.t.Helper()
	screen, err := typeInto(n.t, n.home, []string{"TERM=xterm", "TYPED=" + n.told.file}, shim+n.exported+recorded+commands, enough)
	n.told.take()
	if err != nil {
		n.told.failed(fmt.Sprintf("%v of\n%s", err, strings.TrimSpace(commands)), screen)
		if n.exported != "" { // there is a cluster, then
			seen, _ := typeInto(n.t, n.home, []string{"TERM=xterm"}, n.exported+looks, "")
			n.t.Logf("the cluster then:\n%s", seen)
		}
		n.t.FailNow()
	}
	for line := range strings.Lines(commands) {
		if strings.HasPrefix(line, "export ") && !strings.Contains(line, "$(") { // what was read is of its page alone
			n.exported += line
		}
	}
	return screen
}

// finds wants the node to be as a command promises.
func (n *newcomer) finds(after string) {
	n.t.Helper()
	const state = `{.spec.unschedulable} {.status.conditions[?(@.type=="LifecycleTransition")].reason}`
	node := n.types(`kubectl get node worker-1 -o jsonpath='` + state + `'`)
	pods := n.types(`kubectl get pods --field-selector spec.nodeName=worker-1 -o name`)
	switch after {
	case "install":
		if !strings.Contains(pods, "pod/web-") {
			n.t.Errorf("there is nothing to drain on worker-1: %q", pods)
		}
	case "drain":
		if node != "true drain-complete" || strings.Contains(pods, "pod/") {
			n.t.Errorf("after the drain: %q, with %q", node, pods)
		}
	case "uncordon":
		if node != " maintenance-complete" {
			n.t.Errorf("after the return: %q", node)
		}
	default:
		n.t.Errorf("the test does not know what to find after %s", after)
	}
}
