// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/nodelease"
)

// leasedTo is worker-1 as the controller says that somebody has leased it.
func leasedTo(holder string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"}}
	if holder != "" {
		n.Annotations = map[string]string{nodelease.Annotation: `{"holder":"` + holder + `","purpose":"new disk","since":"2026-05-01T11:00:00Z"}`}
	}
	return n
}

func TestWhoMayHaveANodePutBackThatIsLeased(t *testing.T) {
	const refused = `node worker-1 is leased to "fwup" for "new disk"; wait until it is given back, or, if nobody is at work there any more: ` +
		"kubectl slipway lease release worker-1 --force"
	for name, tc := range map[string]struct {
		node  *corev1.Node
		lease string
		want  string
	}{
		"nobody has leased it":              {leasedTo(""), leaseAs("fwup"), "<nil>"},
		"Slipway has":                       {leasedTo("slipway"), leaseAs("slipway"), "<nil>"},
		"somebody else has":                 {leasedTo("fwup"), leaseAs("fwup"), refused},
		"somebody had":                      {leasedTo("fwup"), leaseAs(""), "<nil>"},
		"who asks has":                      {leasedTo("ada"), leaseAs("ada"), "<nil>"},
		"who asks has, as an administrator": {leasedTo("kubeadmin-ada"), leaseAs("kubeadmin-ada"), "<nil>"},
		"who asks may not read leases":      {leasedTo("fwup"), "Forbidden", refused},
		"what is said cannot be read":       {&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Annotations: map[string]string{nodelease.Annotation: "{"}}}, leaseAs("fwup"), "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			tool, _, _ := testTool()
			server, none := theLease(t, tc.lease), ""
			tool.flags.APIServer, tool.flags.KubeConfig = &server, &none
			var n nodeChoice
			n.note(tc.node)
			if err := tool.mayReturn(t.Context(), &n); fmt.Sprint(err) != tc.want {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestAPlanNamesTheNodesThatOthersHaveLeased(t *testing.T) {
	tool, _, errOut := testTool()
	var n nodeChoice
	for _, holder := range []string{"slipway", "", "kubeadmin-ada"} {
		n.note(leasedTo(holder))
		const want = "Node worker-1 is leased to \"kubeadmin-ada\" for \"new disk\": a drain waits until the lease is given back.\n"
		if tool.noteLeased(&n); (errOut.String() == want) != (holder == "kubeadmin-ada") {
			t.Errorf("of a node that is leased to %q, it says %q", holder, errOut)
		}
	}
}
