// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// tape is all that is decided in a story, to the last field: the scripts show what one reads
// a story for. Of statuses, it has what changes.
type tape struct {
	lines    []string
	watches  string
	statuses map[types.UID]map[string]string
}

func (tp *tape) say(what string, of any) {
	text, err := json.Marshal(of)
	if err != nil {
		panic(err)
	}
	tp.lines = append(tp.lines, what+" "+string(text))
}

func (tp *tape) command(name string, args []datadriven.CmdArg) {
	line := "> " + name
	for _, arg := range args {
		line += " " + arg.String()
	}
	tp.lines = append(tp.lines, line)
}

func (tp *tape) decided(d Decision) {
	watches := fmt.Sprintf("check %v, kept away %t, pending %t, budgets %t, starving %t", d.Check, d.WatchKeptAway, d.CountPending, d.Budgets, d.Starving)
	if watches != tp.watches {
		tp.watches = watches
		tp.lines = append(tp.lines, "watches: "+watches)
	}
	for _, step := range d.Steps {
		kind := reflect.TypeOf(step).Name()
		switch s := step.(type) {
		case ChangeEvent:
			tp.say(kind, map[string]any{"meta": s.Changed.ObjectMeta, "spec": s.Changed.Spec})
		case DeleteEvent:
			tp.say(kind, s.Event.Name)
		case DeleteJob:
			tp.say(kind, s.Job.Name)
		case ChangeMaintenance:
			tp.say(kind, map[string]any{"name": s.Changed.Name, "finalizers": s.Changed.Finalizers, "stage": s.Changed.Spec.Stage})
		case Tell:
			tp.say(kind, map[string]any{"about": s.About.Name, "warning": s.Warning, "reason": s.Reason, "message": s.Message})
		default:
			tp.say(kind, s)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(d.Statuses)) {
		tp.status(uid, d.Statuses[uid])
	}
}

// status says what is another one than in the status before.
func (tp *tape) status(uid types.UID, s slipwayv1alpha1.NodeMaintenanceStatus) {
	parts := map[string]string{"message": s.Message, "generation": fmt.Sprint(s.ObservedGeneration)}
	put := func(name string, of any) {
		text, err := json.Marshal(of)
		if err != nil {
			panic(err)
		}
		parts[name] = string(text)
	}
	put("counts", s.Nodes)
	put("stages", s.StageStatuses)
	put("drain", s.DrainStatus)
	for _, c := range s.Conditions {
		put("condition "+c.Type, c)
	}
	for i, n := range s.NodeStatuses {
		put(fmt.Sprint("node ", i), n)
	}
	before := tp.statuses[uid]
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		if before[name] != parts[name] {
			tp.lines = append(tp.lines, fmt.Sprintf("status of %s: %s: %s", uid, name, parts[name]))
		}
	}
	tp.statuses[uid] = parts
}

// check compares the tape with the one in the file, or rewrites that.
func (tp *tape) check(t *testing.T, path string) {
	t.Helper()
	got := strings.Join(tp.lines, "\n") + "\n"
	if rewrite := flag.Lookup("rewrite"); rewrite != nil && rewrite.Value.String() == "true" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("other decisions than in %s; go test -rewrite if that is right (-want +got):\n%s", path, diff)
	}
}
