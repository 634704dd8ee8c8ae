// SPDX-License-Identifier: Apache-2.0

package evictions

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/test/auditlog"
	"github.com/slipway-k8s/slipway/test/harness"
)

// killing is where a controller is killed: at the fault point that it comes to first after
// it was started at one moment of the story, which is when another moment has come.
type killing struct{ point, from, until string }

var killings = map[string]killing{
	"when it has created the Eviction":      {faultpoint.EvictionCreated, atTheBeginning, whenAsked},
	"when the first responder has its turn": {faultpoint.EvictionWritten, atTheBeginning, whenAsked},
	"when a requester was told":             {faultpoint.RequestWritten, atTheBeginning, whenAsked},
	"when it has written labels and owners": {faultpoint.EvictionAdopted, atTheBeginning, whenAskedAgain},
	"before the Eviction has ended":         {faultpoint.EvictionWritten, beforeTheEnd, whenGone},
	"when one of two knows of the end":      {faultpoint.RequestWritten, beforeTheEnd, whenGone},
}

// killed has the real program killed, and another one go on: it all ends as without.
func (g *ground) killed(t *testing.T) {
	var want string
	t.Run("not at all", func(t *testing.T) {
		s := g.scene(t)
		s.begin("")
		s.story(func(string) {})
		want = s.end()
	})
	for name, k := range killings {
		t.Run(name, func(t *testing.T) {
			s := g.scene(t)
			var running *harness.Process
			s.story(func(moment string) {
				switch moment {
				case k.from:
					if running != nil {
						running.Stop()
					}
					running = s.begin(k.point)
				case atTheBeginning:
					running = s.begin("")
				case k.until:
					running.AwaitFaultPoint(k.point)
					running.Kill()
					running = s.begin("")
				}
			})
			running.Stop()
			if diff := cmp.Diff(want, s.end()); diff != "" {
				t.Errorf("it ends otherwise (-without +with a kill):\n%s", diff)
			}
		})
	}
}

// begin starts a controller that stops at a fault point, if one is given.
func (s *scene) begin(point string) *harness.Process {
	s.t.Helper()
	return s.env.Controller(s.t, "of "+s.namespace, point, "--eviction-requests", "--leader-elect=false")
}

// noWorkIsDoneTwice has two controllers write no more than one does. That they start no
// second Eviction and write nothing that is there already, the audit log is held to at the
// end of the test.
func (g *ground) noWorkIsDoneTwice(t *testing.T) {
	s := g.scene(t)
	s.story(func(string) {})
	var got []string
	for _, r := range s.writes() {
		got = append(got, r.Verb+" "+r.Object())
	}
	slices.Sort(got)
	eviction, a, b := s.namespace+"/pod-1-p", s.namespace+"/a", s.namespace+"/b"
	want := []string{
		"create evictions " + eviction,
		"patch evictions " + eviction, // b is an owner
		// The turn of the first, b, a has withdrawn, the turn of the second, and the end.
		"update evictions/status " + eviction, "update evictions/status " + eviction, "update evictions/status " + eviction,
		"update evictions/status " + eviction, "update evictions/status " + eviction,
		// It awaits, has observed that a withdraws, and is over.
		"update evictionrequests/status " + a, "update evictionrequests/status " + a, "update evictionrequests/status " + a,
		"update evictionrequests/status " + b, "update evictionrequests/status " + b,
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the controllers have written (-want +got):\n%s", diff)
	}
}

// writes are those of the controller in the namespace that the server took in.
func (s *scene) writes() []auditlog.Request {
	s.t.Helper()
	return s.env.Requests(s.t, func(r auditlog.Request) bool {
		return r.Namespace == s.namespace && r.Code < 300 && r.User == controllerUser &&
			slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb)
	})
}

const controllerUser = "system:serviceaccount:slipway-system:slipway-controller"
