// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// TestScripts runs the text scripts in testdata/scripts. Each command does something to the world,
// and then steps are done until there is none.
//
//	event [phase=P] | cancel | gone     the event of node n1
//	event all                           it asks for all its pods
//	later DURATION                      time passes
//	away POD | back                     the API server does not answer for a pod
//	name POD...                         the agent leaves these pods to responders
//	pod NAME [node=N] [uid=U] [phase=P] [mirror] [daemon] [terminating] [nobody] [gone]
//	told POD [evicted] [failed] [reason=R]  the evictionrequest-controller has seen the request
//	cache empty | caught-up             that of events
//	restart                             another process takes over
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.command(t, d)
			return w.pass()
		})
	})
}

func (w *world) command(t *testing.T, d *datadriven.TestData) {
	arg := func(name, otherwise string) string {
		if d.HasArg(name) {
			d.ScanArgs(t, name, &otherwise)
		}
		return otherwise
	}
	switch d.Cmd {
	case "event":
		switch {
		case d.HasArg("all"):
			w.askForAll()
		case d.HasArg("cancel"):
			w.event.DeletionTimestamp = &metav1.Time{}
		case d.HasArg("gone"):
			w.event = nil
		case w.event != nil:
			w.event.Status.ClaimStatus = lifecyclev1alpha1.ClaimStatus(arg("phase", ""))
		default:
			w.addEvent(lifecyclev1alpha1.ClaimStatus(arg("phase", "Claimed")))
		}
	case "name":
		var pods []string
		for _, a := range d.CmdArgs {
			pods = append(pods, a.Key)
		}
		w.name(pods...)
	case "pod":
		name := d.CmdArgs[0].Key
		if d.HasArg("gone") {
			delete(w.pods, name)
			return
		}
		w.addPod(name, arg("node", "n1"), func(p *corev1.Pod) {
			p.UID = types.UID(arg("uid", string(p.UID)))
			p.Status.Phase = corev1.PodPhase(arg("phase", "Running"))
			if d.HasArg("terminating") {
				p.DeletionTimestamp = &metav1.Time{}
			}
			if d.HasArg("mirror") {
				metav1.SetMetaDataAnnotation(&p.ObjectMeta, corev1.MirrorPodAnnotationKey, "hash")
			}
			if d.HasArg("nobody") {
				metav1.SetMetaDataAnnotation(&p.ObjectMeta, "nobody", "responds")
			}
			if d.HasArg("daemon") {
				p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Controller: new(true)}}
			}
		})
	case "told":
		w.answer(d.CmdArgs[0].Key, d.HasArg("evicted"), d.HasArg("failed"), arg("reason", "NoFurtherResponder"))
	case "cache":
		if w.behind = d.HasArg("empty"); w.behind {
			w.cached = nil
		}
	case "later":
		passes, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(passes)
	case "away":
		w.away[d.CmdArgs[0].Key] = !d.HasArg("back")
	case "restart":
		w.restart()
	default:
		t.Fatalf("%s: no such command: %s", d.Pos, d.Cmd)
	}
}
