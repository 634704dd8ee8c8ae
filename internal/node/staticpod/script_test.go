// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
)

// TestScripts runs the text scripts in testdata. Each command does something to the world, and
// then steps are done until there is none.
//
//	begin                          nothing
//	put FILE CONTENT               somebody writes a file into the kubelet's folder
//	edit FILE CONTENT              somebody writes a file into the folder of those that are away
//	remove FILE | carry FILE       somebody removes one of the kubelet's; moves one back by hand
//	wish EVENT PODS | withdraw EVENT
//	host control-plane|plain       slipway-host is started with or without the second opt-in
//	cut | back                     nobody can ask the API server, or can again
//	full | room                    nothing can be written to the disk, or it can again
//	tear BYTES                     the journal has only so many bytes
//	expect POD [COMPONENT]         what a drain expects of a pod
//
// With steps=N, slipway-host is killed after so many steps; the next command starts it again.
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "expect" {
				return fmt.Sprintf("%+v\n", w.expect(arg(d, 0), arg(d, 1)))
			}
			steps := 50
			d.MaybeScanArgs(t, "steps", &steps)
			run(t, w, d)
			return settle(w, steps)
		})
	})
}

func settle(w *world, steps int) string {
	var out strings.Builder
	clear(w.failed)
	for range steps {
		step := Next(w.facts())
		if step == nil {
			break
		}
		fmt.Fprintln(&out, w.apply(step))
	}
	if out.Len() == 0 {
		return "nothing\n"
	}
	return out.String()
}

func arg(d *datadriven.TestData, i int) string {
	if i < len(d.CmdArgs) {
		return d.CmdArgs[i].Key
	}
	return ""
}

func run(t *testing.T, w *world, d *datadriven.TestData) {
	t.Helper()
	name := arg(d, 0)
	switch d.Cmd {
	case "begin":
	case "put":
		w.watched[name] = d.Input
	case "edit":
		w.away[name] = d.Input
	case "remove":
		delete(w.watched, name)
	case "carry":
		move(w.away, w.watched, name)
	case "wish":
		w.wish(name, strings.Fields(d.Input)...)
	case "withdraw":
		w.withdraw(name)
	case "host":
		w.controlPlane = name == "control-plane"
	case "cut":
		w.node = nil
	case "back":
		w.node = &corev1.Node{}
	case "full", "room":
		w.full = d.Cmd == "full"
	case "tear":
		var bytes int
		d.ScanArgs(t, "bytes", &bytes)
		w.journal = w.journal[:bytes]
	default:
		t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
}
