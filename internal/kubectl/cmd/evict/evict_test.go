// SPDX-License-Identifier: Apache-2.0

package evict

import (
	"cmp"
	"fmt"
	"io"
	"testing"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

func readEvictions(t *testing.T) ([]*evictionv1alpha1.EvictionRequest, []*evictionv1alpha1.Eviction) {
	t.Helper()
	return clitest.Read[evictionv1alpha1.EvictionRequest](t, "evictions-requests.yaml"), clitest.Read[evictionv1alpha1.Eviction](t, "evictions-evictions.yaml")
}

func pursuitOf(t *testing.T, tool *cli.Tool, f cli.Format) *pursuit {
	t.Helper()
	*tool.Flags.APIServer = "http://localhost:1"
	p, err := newPursuit(tool, &cli.Output{Format: f})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWhatEvictionsShows(t *testing.T) {
	rows := evictionRows(readEvictions(t))
	for name, columns := range map[string]struct{ namespaces, wide bool }{
		"evictions": {}, "evictions/all": {namespaces: true}, "evictions/wide": {wide: true}, "evictions/all-wide": {true, true},
	} {
		clitest.GoldenStyles(t, name, func(out io.Writer, style ui.Style) error {
			_, err := io.WriteString(out, evictionTable(rows, style, clitest.Noon, columns.namespaces, columns.wide))
			return err
		})
	}
	clitest.GoldenEncoded(t, "evictions", cli.List(rows))
}

func TestEvictionsSaysThatNobodyAsks(t *testing.T) {
	const none = "No eviction of a pod is requested.\n"
	for f, want := range map[cli.Format]string{cli.Human: none, cli.Wide: none, cli.Name: "", cli.YAML: "apiVersion: v1\nitems: []\nkind: List\n"} {
		tool, out, _ := clitest.Tool()
		if err := tool.Print(&cli.Output{Format: f}, evictionsView(tool, evictionRows(nil, nil), false)); err != nil || out.String() != want {
			t.Errorf("-o %s: %q, %v", f, out, err)
		}
	}
}

func TestARequestThatIsMadeAnewWaits(t *testing.T) {
	requests, evictions := readEvictions(t)
	vm := target{"vms", "vm-7", "v7"}
	if row := vm.row(requests, evictions); row.State != state.Failed {
		t.Fatalf("it is %s", row.State)
	}
	again := &evictionv1alpha1.EvictionRequest{}
	again.Namespace, again.Spec.Requester, again.Spec.Intent = "vms", evictRequester, evictionv1alpha1.EvictionRequestIntentEviction
	again.Spec.Target.Pod = &evictionv1alpha1.EvictionRequestPodReference{Name: "vm-7", UID: "v7"}
	if row := vm.row(append(requests, again), evictions); row.State != state.Waiting {
		t.Errorf("when it is requested again, it is %s", row.State)
	}
}

func TestAServerWithoutTheAPIIsToldWithWhatHelps(t *testing.T) {
	err := evictionTrouble("list EvictionRequests", apierrors.NewNotFound(schema.GroupResource{Group: "lifecycle.k8s.io", Resource: "evictionrequests"}, ""))
	clitest.Golden(t, "evictions/not-served", err.Error()+"\n")
	err = evictionTrouble("list EvictionRequests", apierrors.NewForbidden(schema.GroupResource{Resource: "evictionrequests"}, "", nil))
	clitest.Golden(t, "evictions/forbidden", err.Error()+"\n")
}

func TestWhatEvictShowsWhileItGoesOn(t *testing.T) {
	requests, evictions := readEvictions(t)
	cart := target{"shop", "cart-0", "c0"}
	waits := cart.row(requests[:1], nil)
	goesOn := cart.row(requests, evictions)
	later := goesOn
	responder := *goesOn.Responder
	responder.Message, later.Responder = "copied 9 of 12 GiB", &responder
	over := later
	over.end(requests[3].Status.Conditions)
	steps := func(show func([]evictionRow, map[string]evictionRow, time.Time)) {
		show([]evictionRow{waits}, nil, clitest.Noon)
		show([]evictionRow{goesOn}, nil, clitest.Noon.Add(time.Second))
		show([]evictionRow{goesOn}, nil, clitest.Noon.Add(2*time.Second))
		show([]evictionRow{later}, nil, clitest.Noon.Add(3*time.Second))
		show([]evictionRow{over}, map[string]evictionRow{"cart-0": over}, clitest.Noon.Add(4*time.Second))
	}
	for name, f := range map[string]cli.Format{"no-terminal": cli.Human, "json": cli.JSON} {
		tool, out, _ := clitest.Tool()
		p := pursuitOf(t, tool, f)
		steps(func(rows []evictionRow, ended map[string]evictionRow, now time.Time) {
			p.ended = ended
			p.Update(p.picture(rows, now))
		})
		clitest.Golden(t, "evict/"+name, out.String())
	}
	for name, style := range clitest.Styles {
		if !style.Terminal {
			continue
		}
		tool, out, _ := clitest.Tool()
		p := pursuitOf(t, tool, cli.Human)
		steps(func(rows []evictionRow, ended map[string]evictionRow, now time.Time) {
			p.Draw(style, p.picture(rows, now))
		})
		p.Trouble = "connection refused"
		p.Draw(style, p.picture([]evictionRow{goesOn}, clitest.Noon))
		clitest.Golden(t, "evict/"+name, out.String())
	}
}

func TestWhatEvictPrintsForWhoDoesNotWait(t *testing.T) {
	requests, _ := readEvictions(t)
	for _, f := range []cli.Format{cli.Human, cli.Name, cli.JSON} {
		tool, out, errOut := clitest.Tool()
		p := pursuitOf(t, tool, f)
		p.namespace, p.order = "shop", []string{"cart-0", "cart-1"}
		p.asked = map[string]*askedEviction{
			"cart-0": {request: requests[1]}, "cart-1": {request: requests[2], isNew: true},
		}
		if err := p.printAsked(); err != nil {
			t.Fatal(err)
		}
		clitest.Golden(t, "evict/asked-"+cmp.Or(string(f), "people"), out.String()+"--- stderr\n"+errOut.String())
	}
}

func TestEvictSaysOnceThatTheServerDoesNotAnswer(t *testing.T) {
	tool, out, errOut := clitest.Tool()
	p := pursuitOf(t, tool, cli.Human)
	for _, lost := range []string{"", "connection refused", "connection refused", "", "timeout"} {
		p.Trouble = lost
		p.Update(p.picture(nil, clitest.Noon))
	}
	const want = "The API server does not answer: connection refused\nThe API server does not answer: timeout\n"
	if out.String() != "" || errOut.String() != want {
		t.Errorf("stdout %q, stderr %q", out, errOut)
	}
}

func TestHowEvictEnds(t *testing.T) {
	requests, evictions := readEvictions(t)
	var text string
	for _, row := range evictionRows(requests, evictions) {
		if row.over() {
			code, says := endOfEviction(&row)
			text += fmt.Sprintf("%d %s\n", code, says)
		}
	}
	clitest.Golden(t, "evict/ends", text)
}

func TestAWrongCommandLineOfEvictIsRefused(t *testing.T) {
	for name, args := range map[string][]string{
		"evict-nothing":         {"evict"},
		"evict-a-node":          {"evict", "node/worker-1"},
		"evict-withdraw-reason": {"evict", "cart-0", "--withdraw", "--reason=x"},
		"evict-withdraw-json":   {"evict", "cart-0", "--withdraw", "-o", "json"},
		"evictions-an-argument": {"evictions", "cart-0"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := execute(t, args...)
			if code != cli.WrongUsage || out != "" {
				t.Errorf("exit code %d, want %d; stdout %q", code, cli.WrongUsage, out)
			}
			clitest.Golden(t, "usage/"+name, errOut)
		})
	}
}

func TestWhatOthersHaveWrittenDoesNothingToTheTerminalOfEvictions(t *testing.T) {
	requests, evictions := readEvictions(t)
	*evictions[0].Status.Responders[0].Message = clitest.Hostile
	evictions[2].Status.Conditions[1].Message = clitest.Hostile
	requests[0].Annotations = map[string]string{annotationReason: clitest.Hostile}
	rows := evictionRows(requests, evictions)
	for _, style := range []ui.Style{{}, {Terminal: true, Width: 80, Height: 24}} {
		clitest.WantHarmless(t, evictionTable(rows, style, clitest.Noon, true, true))
	}
	for i := range rows {
		if rows[i].message() == clitest.Hostile {
			clitest.WantHarmless(t, rows[i].line(clitest.Noon))
			_, says := endOfEviction(&rows[i])
			clitest.WantHarmless(t, says)
		}
	}
	clitest.WantHarmless(t, because(requests[0]))
}

// The API server notes creations to the second.
func TestTheNewestOfSeveralEvictionsOfAPodIsShown(t *testing.T) {
	of := target{"shop", "web", "uid"}
	eviction := func(name string, second int) *evictionv1alpha1.Eviction {
		e := &evictionv1alpha1.Eviction{ObjectMeta: metav1.ObjectMeta{
			Namespace: of.namespace, Name: name, CreationTimestamp: metav1.NewTime(clitest.Noon.Add(time.Duration(second) * time.Second)),
		}}
		e.Spec.Target.Pod = &evictionv1alpha1.EvictionPodReference{Name: of.name, UID: of.uid}
		e.Status.Conditions = []metav1.Condition{{Type: string(evictionv1alpha1.EvictionConditionFailed), Status: metav1.ConditionTrue}}
		return e
	}
	for want, all := range map[string][]*evictionv1alpha1.Eviction{
		"pod-2-web":  {eviction("pod-1-web", 0), eviction("pod-2-web", 0)},
		"pod-10-web": {eviction("pod-10-web", 3), eviction("pod-9-web", 3)},
		"pod-3-web":  {eviction("pod-3-web", 5), eviction("pod-4-web", 4)},
	} {
		if got := of.eviction(all); got.Name != want {
			t.Errorf("got %s; want %s", got.Name, want)
		}
	}
}
