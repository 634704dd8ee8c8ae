// SPDX-License-Identifier: Apache-2.0

package deadlock

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

var epoch = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// TestScripts tells what is done in testdata: each find has all that is known, one thing a
// line, and prints what was found at a time after the epoch.
//
//	find [at=DURATION]
//	drain NODE [refused=BUDGET,...] [since=DURATION] [began=DURATION] [gone=N] [keeps] [stays]
//	budget NAME expected/desired [allowed]
//	pod NAME of=BUDGET fits=NODE,... [since=DURATION]
//
// A drain that keeps does not give way, and one that stays does not come back by itself.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			at := "10m"
			d.MaybeScanArgs(t, "at", &at)
			var f Facts
			for line := range strings.Lines(d.Input) {
				read(t, &f, strings.Fields(line))
			}
			return Next(f, after(t, at)).text()
		})
	})
}

func after(t *testing.T, text string) time.Time {
	passed, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return epoch.Add(passed)
}

func read(t *testing.T, f *Facts, words []string) {
	values := map[string]string{}
	for _, word := range words[2:] {
		key, value, _ := strings.Cut(word, "=")
		values[key] = value
	}
	has := func(key string) bool { _, is := values[key]; return is }
	list := func(key string) []string {
		return strings.FieldsFunc(values[key], func(r rune) bool { return r == ',' })
	}
	since := func(key string) time.Time {
		if has(key) {
			return after(t, values[key])
		}
		return epoch
	}
	switch words[0] {
	case "drain":
		d := Drain{Node: words[1], Refused: list("refused"), Since: since("since"), Began: since("began"), MayGiveWay: !has("keeps"), ComesBack: !has("stays")}
		d.Gone = len(values["gone"]) // a stroke for each
		f.Drains = append(f.Drains, d)
	case "budget":
		b := Budget{Name: words[1]}
		if _, err := fmt.Sscanf(words[2], "%d/%d", &b.Status.ExpectedPods, &b.Status.DesiredHealthy); err != nil {
			t.Fatal(err)
		}
		if has("allowed") {
			b.Status.DisruptionsAllowed = 1
		}
		f.Budgets = append(f.Budgets, b)
	case "pod":
		for i := range f.Budgets {
			if b := &f.Budgets[i]; b.Name == values["of"] {
				b.Waiting = append(b.Waiting, Waiting{Since: since("since"), Fits: list("fits")})
			}
		}
	default:
		t.Fatalf("%s means nothing", words[0])
	}
}

func (d Decision) text() string {
	var out strings.Builder
	for _, each := range d.Deadlocks {
		fmt.Fprintf(&out, "%s wait for each other, for %s: ", strings.Join(each.Nodes, ", "), strings.Join(each.Budgets, ", "))
		if each.GivesWay == "" {
			out.WriteString("nobody gives way\n")
		} else {
			out.WriteString(each.GivesWay + " gives way\n")
		}
	}
	if len(d.Deadlocks) == 0 {
		out.WriteString("no deadlock\n")
	}
	if d.Ask {
		out.WriteString("budgets are asked for\n")
	}
	if !d.Wake.IsZero() {
		fmt.Fprintf(&out, "again at %s\n", d.Wake.Sub(epoch))
	}
	return out.String()
}
