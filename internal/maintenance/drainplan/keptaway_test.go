// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"fmt"
	"math"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func TestWhichPodsOfDaemonSetsAreKeptAway(t *testing.T) {
	logs := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "logs"}, MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: "tier", Operator: metav1.LabelSelectorOpExists}, {Key: "zone", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"b", "a"}},
	}}
	cni := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "cni"}}
	of := func(kind slipwayv1alpha1.PodType, priority int32, selector *metav1.LabelSelector) slipwayv1alpha1.DrainTarget {
		return slipwayv1alpha1.DrainTarget{PodType: kind, PodPriority: new(priority), PodSelector: selector}
	}
	const daemons, others = slipwayv1alpha1.PodTypeDaemonSet, slipwayv1alpha1.PodTypeDefault
	const ofLogs = "app In (logs)&tier Exists ()&zone NotIn (a,b)"
	for name, tc := range map[string]struct {
		targets []slipwayv1alpha1.DrainTarget
		want    string
	}{
		"no targets":                          {nil, ""},
		"no node is drained":                  {NoPods(), ""},
		"other pods":                          {[]slipwayv1alpha1.DrainTarget{of(others, 1000, nil), of(others, 2000, logs)}, ""},
		"all of them":                         {[]slipwayv1alpha1.DrainTarget{of(others, 5, nil), of(daemons, math.MaxInt32, nil)}, "2147483647"},
		"those without a priority":            {[]slipwayv1alpha1.DrainTarget{{PodType: daemons}}, "2147483647"},
		"up to a priority":                    {[]slipwayv1alpha1.DrainTarget{of(daemons, -7, nil)}, "-7"},
		"with some labels":                    {[]slipwayv1alpha1.DrainTarget{of(daemons, 1000, logs)}, "1000 " + ofLogs},
		"with some labels up to a higher one": {[]slipwayv1alpha1.DrainTarget{of(daemons, 2000, logs), of(daemons, 1000, nil)}, "1000;2000 " + ofLogs},
		"with some labels, of which all are":  {[]slipwayv1alpha1.DrainTarget{of(daemons, 500, logs), of(daemons, 1000, nil)}, "1000"},
		"two of them":                         {[]slipwayv1alpha1.DrainTarget{of(daemons, 5, logs), of(daemons, 6, cni)}, "6 app In (cni);5 " + ofLogs},
		"the same twice":                      {[]slipwayv1alpha1.DrainTarget{of(daemons, 5, cni), of(daemons, 5, cni)}, "5 app In (cni)"},
		"the same with two priorities":        {[]slipwayv1alpha1.DrainTarget{of(daemons, 5, cni), of(daemons, 6, cni)}, "6 app In (cni)"},
		"a selector that asks for nothing":    {[]slipwayv1alpha1.DrainTarget{of(daemons, 5, &metav1.LabelSelector{})}, "5"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := KeptAway(tc.targets); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestNoMoreIsKeptAwayThanThereIsRoomFor(t *testing.T) {
	targets := []slipwayv1alpha1.DrainTarget{{PodType: slipwayv1alpha1.PodTypeDaemonSet, PodPriority: new(int32(0))}}
	for i := range 400 {
		targets = append(targets, slipwayv1alpha1.DrainTarget{PodType: slipwayv1alpha1.PodTypeDaemonSet, PodPriority: new(int32(1000)), PodSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{"app": fmt.Sprintf("%03d-%s", i, strings.Repeat("x", 50))},
		}})
	}
	got := KeptAway(targets)
	if len(got) > maxKeptAway || len(got) < maxKeptAway-200 || !strings.HasPrefix(got, "0;1000 app In (000-x") || strings.HasSuffix(got, ";") {
		t.Errorf("%d characters: %.40s…", len(got), got)
	}
}
