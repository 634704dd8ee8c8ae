// SPDX-License-Identifier: Apache-2.0

package surger

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// TestAPatchThatChangesNothingIsNotRepeatedAtOnce: what is decided on is not what the server
// has, so that the step would come again and again.
func TestAPatchThatChangesNothingIsNotRepeatedAtOnce(t *testing.T) {
	var n *namespace
	var patches atomic.Int32
	n = served(t, func(w http.ResponseWriter, r *http.Request) {
		if patches.Add(1) > 1 {
			t.Error("a second request: " + r.Method + " " + r.URL.Path)
		}
		pod, _, _ := n.watches.pods.GetIndexer().GetByKey("shop/web-6d5b-1")
		respond(w, http.StatusOK, pod)
	})
	n.show(t, "web")
	if _, _, err := n.pass(t.Context()); err == nil || !strings.Contains(err.Error(), "nothing has changed") {
		t.Errorf("the error is %v", err)
	}
}
