// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/harness"
)

// nativeServer is a path to the API server on which native makes it answer as one that serves LifecycleTransitions itself.
// It authenticates as the agent of the node, and returns the path of a kubeconfig.
func nativeServer(t *testing.T, node *harness.Node, native *atomic.Bool) (kubeconfig string) {
	t.Helper()
	config := node.Credentials()
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(server) },
		Transport: transport, FlushInterval: -1,
	}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if native.Load() && r.Header.Get("Accept") == runtime.ContentTypeProtobuf && strings.HasSuffix(r.URL.Path, "/lifecycletransitions") {
			w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		front.CloseClientConnections()
		front.Close()
	})
	kubeconfig = filepath.Join(node.Dir, "proxied")
	if err := devcluster.WriteKubeconfig(kubeconfig, &rest.Config{Host: front.URL}); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// No released API server serves LifecycleEvents itself, so a proxy before the real one says that it does.
func TestAnAgentStandsDownWhereTheKubeletClaims(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "kubelet")
	driver := &plainDriver{
		name:  "kubelet.example.com",
		start: func() *driverv1.LifecycleTransitionResponse { return state("to", "") },
	}
	driver.serve(t, node)
	transition := transitionOf(t, env, node, "kubelet."+node.Name, driver.name)
	var native atomic.Bool
	h, address := node.Record(), harness.FreeAddress(t)
	declare := func(features string) {
		env.Kubectl(t, "patch", "node", node.Name, "--subresource=status", "--type=merge", `--patch={"status":{"declaredFeatures":`+features+`}}`)
	}
	lists := func(drivers string) {
		t.Helper()
		node.Await("lists the drivers "+drivers, func(n *corev1.Node) bool { return n.Annotations["slipway.dev/drivers"] == drivers })
	}
	declare(`["SpecializedLifecycleManagement"]`)
	agent := node.Agent("", "--builtin-drivers=", "--kubeconfig="+nativeServer(t, node, &native), "--health-probe-bind-address="+address)

	// Of the server with the CRDs, whatever the Node declares: the agent claims.
	drained(t, env, h, node.Event(node.EventName("crd"), transition.Name).Name)
	lists(driver.name)

	native.Store(true)
	waiting := node.Event(node.EventName("native"), transition.Name)
	agent.AwaitLog("Standing down")
	if code, said := harness.Get(t, address, "/readyz/kubelet"); code != http.StatusInternalServerError || !strings.Contains(said, "the kubelet declares SpecializedLifecycleManagement") {
		t.Errorf("readiness is %d, %q", code, said)
	}
	lists("")
	var found lifecyclev1alpha1.LifecycleEvent
	if err := env.Client.Get(t.Context(), client.ObjectKeyFromObject(waiting), &found); err != nil {
		t.Fatal(err)
	}
	if found.Status.ClaimStatus != lifecyclev1alpha1.Pending || len(found.Status.Conditions) > 0 {
		t.Errorf("the agent has written the status: %+v", found.Status)
	}

	declare("null")
	drained(t, env, h, waiting.Name)
	lists(driver.name)
	if code, said := harness.Get(t, address, "/readyz/kubelet"); code != http.StatusOK {
		t.Errorf("readiness is %d, %q", code, said)
	}
}
