// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"math"
	"os"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// A node that lies does not leave out of its status what is no pod.
func TestTheServerRefusesPodsThatThereCannotBe(t *testing.T) {
	text, err := os.ReadFile("../../../config/crd/slm.slipway.dev/slm.slipway.dev_lifecycleevents.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties["leftToResponders"].Items.Schema.Properties
	takes := func(field, value string) bool {
		s := schema[field]
		length := int64(len(value))
		return length >= ptr.Deref(s.MinLength, 0) && length <= ptr.Deref(s.MaxLength, math.MaxInt64) && regexp.MustCompile(s.Pattern).MatchString(value)
	}
	for _, p := range []lifecyclev1alpha1.PodReference{
		{Namespace: "shop", Name: "cart-0", UID: "u"},
		{Namespace: "0", Name: "0.cart", UID: types.UID(strings.Repeat("u", 128))},
		{},
		{Namespace: "shop", Name: "cart-1"},
		{Namespace: strings.Repeat("n", 64), Name: "cart-1", UID: "u"},
		{Namespace: "shop", Name: strings.Repeat("n", 254), UID: "u"},
		{Namespace: "shop/../bank", Name: "cart-1", UID: "u"},
		{Namespace: "..", Name: "cart-1", UID: "u"},
		{Namespace: "shop.bank", Name: "cart-1", UID: "u"},
		{Namespace: "shop", Name: "-cart", UID: "u"},
		{Namespace: "shop", Name: "cart..1", UID: "u"},
		{Namespace: "shop", Name: "cart-1/eviction", UID: "u"},
		{Namespace: "shop", Name: "Cart\n", UID: "u"},
		{Namespace: "shop", Name: "cart-1", UID: types.UID(strings.Repeat("u", 129))},
	} {
		if got := takes("namespace", p.Namespace) && takes("name", p.Name) && takes("uid", string(p.UID)); got != isPod(p) {
			t.Errorf("%+v: the server takes it: %v; the agent names it: %v", p, got, isPod(p))
		}
	}
}
