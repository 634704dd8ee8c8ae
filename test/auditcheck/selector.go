// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
)

// selects reports whether a selector selects an object with these labels. An unreadable selector selects none.
func selects(by *metav1.LabelSelector, of map[string]string) bool {
	selector, err := metav1.LabelSelectorAsSelector(by)
	return err == nil && selector.Matches(labels.Set(of))
}

// selectsNode reports whether a selector selects a node.
func selectsNode(by *corev1.NodeSelector, n *node) bool {
	selector, err := nodeaffinity.NewNodeSelector(by)
	return err == nil && selector.Match(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name(), Labels: n.Metadata.Labels}})
}
