// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Whatever a driver answers: either the answer is refused with words that say what is wrong
// with it, or the server takes the status that it gives. A status that the server refuses
// would be written for ever.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{
		`{}`,
		`{"State":"from","Progress":{"total":7,"done":3},"Blockers":[{"object":"Pod shop/cart-0","reason":"BudgetRefuses","by":"PodDisruptionBudget shop/cart","message":"m","since":"2026-05-01T10:00:00Z"}],"BlockersTotal":1}`,
		`{"State":"to","EventConditions":[{"Type":"example.com/Done","Status":"True","Reason":"AllDone","Message":"m"}]}`,
		`{"State":"elsewhere"}`,
		`{"Error":"it is on fire"}`,
		`{"NodeName":"another"}`,
		`{"State":"from","LeftToResponders":[{"namespace":"shop","name":"cart-0","uid":"u"},{"namespace":"..","name":"x","uid":""}]}`,
		`{"State":"from","Progress":{"total":-2147483648,"done":-1},"BlockersTotal":-5}`,
		`{"State":"from","EventConditions":[{"Type":"Claimable","Status":"True","Reason":"R"}]}`,
		`{"State":"from","EventConditions":[{"Type":"T","Status":"True","Reason":"R"},{"Type":"T","Status":"False","Reason":"R"}]}`,
	} {
		f.Add([]byte(seed))
	}
	schema := statusSchema(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		var answer Answer
		if json.Unmarshal(raw, &answer) != nil {
			return
		}
		e := &lifecyclev1alpha1.LifecycleEvent{}
		e.Status.Driver = &lifecyclev1alpha1.ClaimedDriver{Name: "d", Start: "from", End: "to"}
		if why := checkAnswer(answer, CallEnd, *e.Status.Driver, "n"); why != nil {
			if !strings.HasPrefix(why.message, `driver "d"`) || why.reason == "" {
				t.Errorf("it is refused with %+v", *why)
			}
			return
		}
		status := e.Status.DeepCopy()
		status.State = stateBy(answer, *e.Status.Driver)
		fold(status, e, answer, time.Unix(1, 0))
		written, err := json.Marshal(status)
		if err != nil {
			t.Fatalf("the status cannot be written: %v", err)
		}
		var value any
		if err := json.Unmarshal(written, &value); err != nil {
			t.Fatal(err)
		}
		if why := refusal(schema, value, "status"); why != "" {
			t.Errorf("the server refuses it: %s", why)
		}
	})
}

// statusSchema is what the server takes for the status of an event.
func statusSchema(tb testing.TB) apiextensionsv1.JSONSchemaProps {
	tb.Helper()
	text, err := os.ReadFile("../../../config/crd/slm.slipway.dev/slm.slipway.dev_lifecycleevents.yaml")
	if err != nil {
		tb.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &crd); err != nil {
		tb.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"]
}

// refusal is why a value does not fit a schema, as far as those of events say something.
func refusal(schema apiextensionsv1.JSONSchemaProps, value any, path string) string {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range schema.Required {
			if _, there := value[name]; !there {
				return fmt.Sprintf("%s.%s is missing", path, name)
			}
		}
		for name, of := range value {
			field, known := schema.Properties[name]
			if !known {
				return fmt.Sprintf("%s.%s is not known", path, name)
			}
			if why := refusal(field, of, path+"."+name); why != "" {
				return why
			}
		}
	case []any:
		return refusalOfList(schema, value, path)
	case string:
		return refusalOfText(schema, value, path)
	case float64:
		if value < ptr.Deref(schema.Minimum, -math.MaxFloat64) || value > ptr.Deref(schema.Maximum, math.MaxFloat64) {
			return fmt.Sprintf("%s: %v is out of range", path, value)
		}
	}
	return ""
}

func refusalOfList(schema apiextensionsv1.JSONSchemaProps, values []any, path string) string {
	if int64(len(values)) > ptr.Deref(schema.MaxItems, math.MaxInt64) {
		return fmt.Sprintf("%s has %d entries", path, len(values))
	}
	seen := map[string]bool{}
	for i, of := range values {
		at := fmt.Sprintf("%s[%d]", path, i)
		if why := refusal(*schema.Items.Schema, of, at); why != "" {
			return why
		}
		var key []string
		for _, name := range schema.XListMapKeys {
			key = append(key, fmt.Sprint(of.(map[string]any)[name]))
		}
		if id := strings.Join(key, "\x00"); len(key) > 0 && seen[id] {
			return at + " is there twice"
		} else if len(key) > 0 {
			seen[id] = true
		}
	}
	return ""
}

func refusalOfText(schema apiextensionsv1.JSONSchemaProps, value, path string) string {
	length := int64(utf8.RuneCountInString(value))
	allowed := func(v apiextensionsv1.JSON) bool { return string(v.Raw) == fmt.Sprintf("%q", value) }
	switch {
	case length < ptr.Deref(schema.MinLength, 0), length > ptr.Deref(schema.MaxLength, math.MaxInt64):
		return fmt.Sprintf("%s has %d characters", path, length)
	case schema.Pattern != "" && !regexp.MustCompile(schema.Pattern).MatchString(value):
		return fmt.Sprintf("%s: %q does not match %s", path, value, schema.Pattern)
	case schema.Enum != nil && !slices.ContainsFunc(schema.Enum, allowed):
		return fmt.Sprintf("%s: %q is not one of those there are", path, value)
	}
	if schema.Format == "date-time" {
		if _, err := time.Parse(time.RFC3339, value); err != nil {
			return fmt.Sprintf("%s: %q is no time", path, value)
		}
	}
	return ""
}
