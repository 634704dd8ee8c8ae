// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

const (
	fleetPage  = "docs/how-to/maintain-a-fleet.md"
	stagesPage = "docs/how-to/stages-by-hand.md"
)

// aFleet is what the pages are about: a pool over two zones, and a rack. One pod of the pool
// cannot leave.
const aFleet = `kubectl label --overwrite nodes worker-1 worker-2 topology.kubernetes.io/zone=zone-a pool=web
kubectl label --overwrite nodes worker-3 worker-4 topology.kubernetes.io/zone=zone-b pool=web
kubectl label --overwrite nodes worker-5 topology.kubernetes.io/zone=zone-b rack=7
kubectl run stays --image=nginx --overrides='{"spec":{"nodeName":"worker-4"}}'
kubectl create poddisruptionbudget stays --selector=run=stays --min-available=1
kubectl wait --for=condition=Ready pod/stays`

// meanwhile is what goes on in the world before somebody types a command that begins so.
var meanwhile = map[string]string{
	"kubectl slipway maintenance status": `kubectl wait nodemaintenance/kernel-6.12 --for=jsonpath='{.status.conditions[?(@.type=="Progressing")].reason}'=BeforeWindow --timeout=4m
kubectl patch nodemaintenance kernel-6.12 --type=merge -p '{"spec":{"window":{"notBefore":null}}}'`, // it is 22:00
	"kubectl slipway explain worker-4":          nodeIs("kernel-6.12", "worker-4", "Blocked"),
	"kubectl slipway maintenance retry":         "kubectl slipway cancel worker-4\n" + nodeIs("kernel-6.12", "worker-4", "DrainCanceled"),
	"kubectl slipway maintain firmware":         "kubectl delete pod/stays poddisruptionbudget/stays",
	"kubectl slipway maintenance open firmware": "kubectl wait --for=create lifecycleevents.lifecycle.k8s.io/maintenance-worker-5 --timeout=4m",
	"kubectl slipway done worker-5":             nodeIs("firmware", "worker-5", "WaitingForWork"),
}

// nodeIs waits until a maintenance says that a node is somewhere on its way.
func nodeIs(maintenance, node, reason string) string {
	return "kubectl wait nodemaintenance/" + maintenance + ` --for=jsonpath='{.status.nodeStatuses[?(@.name=="` + node + `")].reason}'=` + reason + " --timeout=4m"
}

// maintains follows what is told of maintenances.
func (n *newcomer) maintains() {
	n.t.Helper()
	n.types("kubectl slipway install --maintenance-jobs --yes")
	n.types(aFleet)
	for _, manifest := range blocksIn(n.t, fleetPage, "yaml") {
		n.types("kubectl apply -f - <<'END'\n" + manifest + "\nEND")
	}
	n.followsOneByOne(fleetPage, "name: kernel-6.12", "podTemplate: reboot", "zone-a", "pauseAfter 3 is reached", "PodDisruptionBudget default/stays",
		"node/worker-4 is tried again", "nodemaintenance.slipway.dev/kernel-6.12 has ended", "hook backup is open", "the work is done")
	n.types("kubectl wait --for=condition=Completed nodemaintenance/firmware --timeout=4m\nkubectl delete nodemaintenance firmware\n" + n.everyMonth() +
		"\nkubectl wait nodemaintenance --all --for=jsonpath='{.status.nodes.out}'=1 --timeout=4m\nkubectl delete nodemaintenance --all")
	n.followsOneByOne(stagesPage, "rack-7 drained", "nodemaintenance.slipway.dev/rack-7 has ended")
}

// followsOneByOne types the commands of a page one after the other, as the world goes on in
// between. What would go on for ever is stopped when nothing happens any more.
func (n *newcomer) followsOneByOne(page string, says ...string) {
	n.t.Helper()
	var seen strings.Builder
	passed := map[string]bool{}
	for _, command := range commands(n.t, page) {
		for begins, script := range meanwhile {
			if strings.HasPrefix(command, begins) && !passed[begins] {
				passed[begins] = true
				n.types(script)
			}
		}
		if strings.HasSuffix(command, " -w") {
			const interrupted = " || test $? = 130"
			seen.WriteString(n.typesUntil("pauseAfter 3 is reached (returned: 3", command+interrupted))
			continue
		}
		seen.WriteString(n.types(command))
	}
	n.shows(page, seen.String(), says)
}

// everyMonth is what the CronJob of the page runs, with its rights.
func (n *newcomer) everyMonth() string {
	n.t.Helper()
	for _, block := range blocksIn(n.t, fleetPage, "yaml") {
		for document := range strings.SplitSeq(block, "\n---\n") {
			var c batchv1.CronJob
			if err := yaml.Unmarshal([]byte(document), &c); err != nil {
				n.t.Fatalf("%s: %v in\n%s", fleetPage, err, document)
			}
			if c.Kind != "CronJob" {
				continue
			}
			pod := c.Spec.JobTemplate.Spec.Template.Spec
			return pod.Containers[0].Args[0] + " --as=system:serviceaccount:" + c.Namespace + ":" + pod.ServiceAccountName
		}
	}
	n.t.Fatalf("%s has no CronJob", fleetPage)
	return ""
}
