// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var onNodes = map[string]attempt{
	"read another Node":                     {nodeA, readNode(ofB), byNodeAuthorizer, nodeB},
	"cordon another node":                   {nodeA, cordon(ofB), byNodeRestriction, nodeB},
	"cordon its node as oneself":            {agentA, cordon(ofA), byRBAC, nodeA},
	"taint another node":                    {nodeA, taint(ofB), byNodeRestriction, root},
	"taint its node":                        {nodeA, taint(ofA), byNodeRestriction, root},
	"write conditions of another node":      {nodeA, writeConditions(ofB), byNodeRestriction, nodeB},
	"attract pods of others by a label":     {nodeA, label(ofA, "node-restriction.kubernetes.io/secret-workloads"), byNodeRestriction, root},
	"label another node":                    {nodeA, label(ofB, "example.com/any"), byNodeRestriction, nodeB},
	"delete another node":                   {nodeA, deleteNode(ofB), byImpersonation, root},
	"delete its node as oneself":            {agentA, deleteNode(ofA), byRBAC, root},
	"tell of things in the name of oneself": {agentA, tellOf(ofA), byRBAC, nodeA},
	"have a person's cordon undone":         {detector, record(ofB, "cordons", `{\"other\":{\"uid\":\"attack\"}}`), byNodeRecords, nodeB},
	"have all events of a node fail":        {detector, record(ofB, "api-home", `{\"group\":\"attack\",\"since\":\"2999-01-01T00:00:00Z\"}`), byNodeRecords, nodeB},
	"have administrators locked out":        {detector, record(ofB, "node-lease", ""), byNodeRecords, controller},
	"hide who holds its node":               {nodeA, record(ofA, "held-by", ""), byNodeRecords, controller},
	"have new pods refused":                 {detector, label(ofB, "slipway.dev/going-down"), byNodeRecords, nodeB},
}

// record writes a record of Slipway with the status of a Node.
func record(of, name, value string) try {
	return patchNode(of, `{"metadata":{"annotations":{"slipway.dev/`+name+`":"`+value+`"}}}`, "status")
}

func readNode(of string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		_, err := h.kube.CoreV1().Nodes().Get(ctx, s.nodes[of].Name, metav1.GetOptions{})
		return err
	}
}

func patchNode(of, patch string, subresources ...string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		_, err := h.kube.CoreV1().Nodes().Patch(ctx, s.nodes[of].Name, types.StrategicMergePatchType, []byte(patch), dryPatch, subresources...)
		return err
	}
}

func cordon(of string) try {
	return patchNode(of, `{"metadata":{"annotations":{"slipway.dev/cordons":"{}"}},"spec":{"unschedulable":true}}`)
}

func taint(of string) try {
	return patchNode(of, `{"spec":{"taints":[{"key":"example.com/attack","effect":"NoExecute"}]}}`)
}

func label(of, key string) try { return patchNode(of, `{"metadata":{"labels":{"`+key+`":"true"}}}`) }

func writeConditions(of string) try {
	return patchNode(of, `{"status":{"conditions":[{"type":"LifecycleTransition","status":"False","reason":"Attack"}]}}`, "status")
}

func deleteNode(of string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		return h.kube.CoreV1().Nodes().Delete(ctx, s.nodes[of].Name, dryDelete)
	}
}

// tellOf writes a core Event.
func tellOf(of string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		_, err := h.kube.CoreV1().Events(metav1.NamespaceDefault).Create(ctx, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{GenerateName: "attack-", Namespace: metav1.NamespaceDefault},
			InvolvedObject: corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: s.nodes[of].Name},
			Reason:         "Attack", Message: "told", Type: corev1.EventTypeNormal,
		}, dryCreate)
		return err
	}
}
