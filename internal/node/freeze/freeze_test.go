// SPDX-License-Identifier: Apache-2.0

package freeze

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhichFreezeStopsDisruptionsOfANode(t *testing.T) {
	freeze := func(name, reason, pool string) *Freeze {
		f := &Freeze{ObjectMeta: metav1.ObjectMeta{Name: name}}
		f.Spec.Reason = reason
		if pool != "" {
			f.Spec.Selector.MatchLabels = map[string]string{"pool": pool}
		}
		return f
	}
	ending := freeze("sale", "Black Friday", "web")
	ending.Spec.Until = &metav1.Time{Time: time.Date(2026, 11, 28, 6, 0, 0, 0, time.UTC)}
	for name, tc := range map[string]struct {
		freezes []*Freeze
		want    string
	}{
		"none":                {nil, ""},
		"of all nodes":        {[]*Freeze{freeze("audit", "audit", "")}, `Freeze "audit": audit`},
		"of this node":        {[]*Freeze{ending}, `Freeze "sale": Black Friday (until 2026-11-28T06:00:00Z)`},
		"of another node":     {[]*Freeze{freeze("db", "migration", "db")}, ""},
		"the first by name":   {[]*Freeze{freeze("b", "second", ""), freeze("a", "first", "web")}, `Freeze "a": first`},
		"an invalid selector": {[]*Freeze{freeze("typo", "x", "not a value!")}, `Freeze "typo": spec.selector: values[0][pool]: Invalid value: "not a value!": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')`},
	} {
		if got := Objection(tc.freezes, map[string]string{"pool": "web"}); got != tc.want {
			t.Errorf("%s: got %q, want %q", name, got, tc.want)
		}
	}
}
