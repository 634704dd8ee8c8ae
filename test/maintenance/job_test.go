// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// jobRefused: the API server takes the PodTemplate, and not the Job that is made of it.
func jobRefused(c *scene) {
	template := podTemplate(c.t, c.env, "refused", time.Millisecond)
	label := func(value string) {
		patch := fmt.Sprintf(`{"template":{"metadata":{"labels":{%q:%s}}}}`, batchv1.JobNameLabel, value)
		c.must(c.env.Client.Patch(c.t.Context(), template, client.RawPatch(types.MergePatchType, []byte(patch))))
	}
	label(`"another"`)
	m := c.maintain(job("refused"))
	if n := m.AwaitNode(c.nodes[0], slipwayv1alpha1.NodeHeld, slipwayv1alpha1.ReasonJobRefused); !strings.Contains(n.Message, "spec.template.metadata.labels") {
		c.t.Errorf("the Job is refused for %q", n.Message)
	}
	c.awaitCordoned(c.nodes[0])
	label("null")
	m.AwaitCompleted()
	c.awaitBack(c.nodes[0])
	m.Delete()
}

// jobDeleted: nobody knows how far a Job has come that is deleted while it runs, and it is not
// run a second time until somebody says so.
func jobDeleted(c *scene) {
	node := c.nodes[0]
	podTemplate(c.t, c.env, "deleted", 24*time.Hour)
	m := c.maintain(job("deleted"))
	m.AwaitNode(node, slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonJobRunning)
	deleted := awaitJob(c.t, c.env, node)
	m.Await("has seen the Job", func(o *slipwayv1alpha1.NodeMaintenance) bool {
		return len(o.Status.NodeStatuses) > 0 && strings.HasSuffix(o.Status.NodeStatuses[0].Message, "is running")
	})
	c.must(c.env.Client.Delete(c.t.Context(), deleted, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	if n := m.AwaitNode(node, slipwayv1alpha1.NodeFailed, slipwayv1alpha1.ReasonJobFailed); !strings.HasSuffix(n.Message, "was deleted before its end") {
		c.t.Errorf("the node has failed for %q", n.Message)
	}
	c.awaitCordoned(node)
	m.Change(func(s *slipwayv1alpha1.NodeMaintenanceSpec) { s.Retry = 1 })
	endJob(c.t, c.env, awaitJob(c.t, c.env, node), true)
	m.AwaitCompleted()
	c.awaitBack(node)
	m.Delete()
}
