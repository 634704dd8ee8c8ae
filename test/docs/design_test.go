// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"path/filepath"
	"strings"
	"testing"
)

// design is the README of the server-side drain driver, word for word, as its authors asked
// for it. What it says is to work here.
const design = "test/docs/testdata/drain-driver.txt"

// cannotRun are the commands of the README that this test does not type, and why.
var cannotRun = map[string]string{
	"docker build": "it takes a Docker daemon and an image of Go from a registry; make driver-image-check builds the same Dockerfile without",
	"kind load":    "it takes kind, and its <cluster-name> is the reader's; the nodes of this cluster need no image",
}

// beforehand are the prerequisites: nodes with the kubelet's part of SLM, the API, and pods.
const beforehand = `export PATH=$PWD/bin:$PATH
export KUBECONFIG=$PWD/.local/kubeconfig
make up SLIPWAY=no
` + quickPods + `
kubectl slipway install --yes --separate-drain-driver
kubectl create deployment web --image=nginx --replicas=12
kubectl rollout status deployment web`

// registered waits until the driver of the DaemonSet has registered on the node, with both transitions.
const registered = `kubectl wait node/worker-1 --for=jsonpath='{.metadata.annotations.slipway\.dev/drivers}'=drain.slm.k8s.io --timeout=4m
kubectl wait --for=create lifecycletransition/drain.slm.k8s.io lifecycletransition/drain.slm.k8s.io-uncordon --timeout=4m`

// reached waits until the Node says that it is in the state.
func reached(state string) string {
	return `kubectl wait node/worker-1 --for=jsonpath='{.status.conditions[?(@.type=="LifecycleTransition")].reason}'=` + state + ` --timeout=4m`
}

// ended waits until no event is left: the agent deletes each at its end.
const ended = "kubectl wait --for=delete lifecycleevents.lifecycle.k8s.io --all --timeout=4m"

func TestTheReadmeOfTheDesignWorksAsWritten(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t)
	n.build("go", "build", "-o", filepath.Join(n.home, "bin")+"/", "./cmd/drain-driver")
	// Go builds nothing through links.
	n.build("bash", "-c", "git ls-files -z -- deploy '*.go' go.mod go.sum ':!config' ':!dev' ':!docs' ':!test' | xargs -0 cp --parents -t "+n.home)
	n.types(beforehand)
	n.finds("install")

	drain, typed := "", 0
	for _, block := range n.fenced() {
		switch {
		case strings.Contains(block, "kubectl apply -f deploy"):
			n.types(block)
			n.types(registered)
		case strings.HasPrefix(block, "apiVersion: "): // the file of the next block
			drain = "kubectl apply -f - <<'END'\n" + block + "\nEND\n"
			n.types(drain)
			n.types(reached("drain-complete"))
			n.finds("drain")
			n.types(ended)
		case strings.Contains(block, "name: drain-worker-1"):
			n.types(block)
			n.types(ended)
			n.finds("drain")
		case strings.Contains(block, "name: uncordon-worker-1"):
			n.types(block)
			n.types(reached("maintenance-complete"))
			n.types(ended)
			n.finds("uncordon")
		case strings.Contains(block, " -w\n"):
			n.watches(block, drain)
		case strings.Contains(block, "go build"):
			n.develops(block)
		default:
			t.Errorf("the test does not know what to do with this block:\n%s", block)
		}
		typed++
	}
	if typed != 6 {
		t.Errorf("%d blocks were typed", typed)
	}
	n.knowsTheFlags()
	n.types("make down")
}

// fenced are the blocks of the README in their order, without what cannot run, which it logs.
func (n *newcomer) fenced() (found []string) {
	n.t.Helper()
	for i, part := range strings.Split(text(n.t, design), "\n```") {
		if i%2 == 0 {
			continue // between two blocks
		}
		language, block, _ := strings.Cut(part, "\n")
		if language == "" {
			n.t.Log("not typed: a picture")
			continue
		}
		var left []string
		for line := range strings.SplitSeq(block, "\n") {
			if reason := whyNot(line); reason != "" {
				n.t.Logf("not typed: %s: %s", line, reason)
				continue
			}
			left = append(left, line)
		}
		found = append(found, strings.Join(left, "\n"))
	}
	return found
}

func whyNot(line string) string {
	for begins, reason := range cannotRun {
		if strings.HasPrefix(line, begins) {
			return reason
		}
	}
	return ""
}

// interruptible has the shell outlive the command that Ctrl-C ends. kubectl then ends with 1 or
// 130, whatever it is at.
const interruptible = "trap : INT\n"

// watches types the block of a watch that does not end, while a drain is held up.
func (n *newcomer) watches(block, drain string) {
	n.t.Helper()
	n.types(`kubectl run stays --image=nginx --overrides='{"spec":{"nodeName":"worker-1"}}'
kubectl create poddisruptionbudget stays --selector=run=stays --min-available=1
kubectl wait --for=condition=Ready pod/stays
` + drain + reached("drain-started"))
	watch, rest, _ := strings.Cut(block, " -w\n")
	screen := n.typesUntil("Claimed", interruptible+watch+" -w || true")
	n.shows(design, screen+n.types(rest), []string{"drain.slm.k8s.io", "Claimed", `"reason":"drain-started"`})
	n.types("kubectl delete poddisruptionbudget stays\n" + reached("drain-complete"))
}

// develops types the block for developers, with a node of the cluster in the place of <node>.
func (n *newcomer) develops(block string) {
	n.t.Helper()
	build, run, _ := strings.Cut(block, "\n\n")
	n.types(build)
	const served = `"Serving" driver="drain.slm.k8s.io"`
	n.shows(design, n.typesUntil(served, interruptible+strings.ReplaceAll(run, "<node>", "worker-2")+" || true"), []string{served})
}

// knowsTheFlags compares the table of flags with the driver.
func (n *newcomer) knowsTheFlags() {
	n.t.Helper()
	help := n.types("./drain-driver kubelet-plugin --help")
	defaults := map[string]string{"(required)": "", "(in-cluster)": "", "`5m`": "5m0s"}
	rows := 0
	for line := range strings.Lines(text(n.t, design)) {
		cells := strings.Split(line, " | ")
		flag, isFlag := strings.CutPrefix(cells[0], "| `")
		if !isFlag {
			continue
		}
		rows++
		want, special := defaults[cells[1]]
		if !special {
			want = strings.Trim(cells[1], "`")
		}
		at := strings.Index(help, " "+strings.TrimSuffix(flag, "`")+" ")
		if at < 0 {
			n.t.Errorf("the driver has no flag %s", flag)
			continue
		}
		described, _, _ := strings.Cut(help[at:], "\r\n")
		if want != "" && !strings.Contains(strings.ReplaceAll(described, `"`, ""), "(default "+want+")") {
			n.t.Errorf("the default of %s is not %s: %s", flag, want, described)
		}
	}
	if rows != 6 {
		n.t.Errorf("the table has %d rows", rows)
	}
}
