// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestEncode(t *testing.T) {
	content, err := Encode(Access{Server: "https://127.0.0.1:1", CAFile: "/ca", User: "sa", Namespace: "ns", TokenFile: "/token"})
	if err != nil {
		t.Fatal(err)
	}
	var got file
	if err := json.Unmarshal(content, &got); err != nil {
		t.Fatal(err)
	}
	context := got.Contexts[0]
	if got.CurrentContext != context.Name || context.Context.Cluster != got.Clusters[0].Name || context.Context.User != got.Users[0].Name {
		t.Errorf("the names do not lead from one to the next: %s", content)
	}
	if got.Users[0].User.TokenFile != "/token" || context.Context.Namespace != "ns" || strings.Contains(string(content), "client-key") {
		t.Errorf("access: %s", content)
	}
}
