// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/nodelease"
)

func TestWhoMayHaveANodePutBackThatIsLeased(t *testing.T) {
	const refused = `node worker-1 is leased to "fwup" for "new disk"; wait for its release, or, if the holder no longer works there: ` +
		"kubectl slipway lease release worker-1 --force"
	for name, tc := range map[string]struct {
		node  *corev1.Node
		lease string
		want  string
	}{
		"nobody has leased it":              {clitest.LeasedTo(""), clitest.LeaseAs("fwup"), "<nil>"},
		"Slipway has":                       {clitest.LeasedTo("slipway"), clitest.LeaseAs("slipway"), "<nil>"},
		"somebody else has":                 {clitest.LeasedTo("fwup"), clitest.LeaseAs("fwup"), refused},
		"somebody had":                      {clitest.LeasedTo("fwup"), clitest.LeaseAs(""), "<nil>"},
		"who asks has":                      {clitest.LeasedTo("ada"), clitest.LeaseAs("ada"), "<nil>"},
		"who asks has, as an administrator": {clitest.LeasedTo("kubeadmin-ada"), clitest.LeaseAs("kubeadmin-ada"), "<nil>"},
		"who asks may not read leases":      {clitest.LeasedTo("fwup"), "Forbidden", refused},
		"what is said cannot be read":       {&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Annotations: map[string]string{nodelease.Annotation: "{"}}}, clitest.LeaseAs("fwup"), "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			tool, _, _ := clitest.Tool()
			server, none := clitest.TheLease(t, tc.lease), ""
			tool.Flags.APIServer, tool.Flags.KubeConfig = &server, &none
			var n cli.Nodes
			n.Note(tc.node)
			if err := mayReturn(t.Context(), tool, &n); fmt.Sprint(err) != tc.want {
				t.Errorf("got %v\nwant %s", err, tc.want)
			}
		})
	}
}

func TestAPlanNamesTheNodesThatOthersHaveLeased(t *testing.T) {
	tool, _, errOut := clitest.Tool()
	var n cli.Nodes
	for _, holder := range []string{"slipway", "", "kubeadmin-ada"} {
		n.Note(clitest.LeasedTo(holder))
		const want = "Node worker-1 is leased to \"kubeadmin-ada\" for \"new disk\": a drain waits for the release of the lease.\n"
		if tool.NoteLeased(&n); (errOut.String() == want) != (holder == "kubeadmin-ada") {
			t.Errorf("of a node that is leased to %q, it says %q", holder, errOut)
		}
	}
}

func TestAPlanWarnsOfTheMaintenancesThatWantTheNodes(t *testing.T) {
	shown := func(name string, conditions ...corev1.NodeCondition) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Conditions: conditions}}
	}
	planned := corev1.NodeCondition{Type: maintenance.NodeMaintenancePlanned, Status: corev1.ConditionTrue, Message: "night (not before 2026-05-01T22:00:00Z)"}
	running := corev1.NodeCondition{Type: maintenance.NodeMaintenanceInProgress, Status: corev1.ConditionTrue, Message: "disks"}
	over := running
	over.Status = corev1.ConditionFalse
	tool, _, errOut := clitest.Tool()
	var n cli.Nodes
	for _, node := range []*corev1.Node{shown("a", planned, over), shown("b", planned, running), shown("c", over), shown("d")} {
		n.Note(node)
	}
	tool.WarnOfMaintenances(&n)
	const want = "Warning: NodeMaintenance night (not before 2026-05-01T22:00:00Z) will take node a out of service, and waits while another actor has it.\n" +
		"Warning: Node b is out of service for NodeMaintenance disks.\n"
	if errOut.String() != want {
		t.Errorf("it says:\n%s", errOut)
	}
}
