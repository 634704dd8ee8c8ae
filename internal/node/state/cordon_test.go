// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func ownerOf(event string) Owner {
	return Owner{Event: event, UID: types.UID(event + "-uid"), Since: epoch}
}

// kubectl is a cordon that is not ours.
var kubectl = Foreign{By: "kubectl", Since: epoch.Add(-time.Hour)}

// change is what is done to the cordon of a Node.
type change func(cordonState) cordonState

func cordon(event string) change {
	return func(s cordonState) cordonState { return s.cordonedFor(ownerOf(event), kubectl) }
}

func release(event string) change {
	return func(s cordonState) cordonState { return s.releasedBy(ownerOf(event).UID) }
}

func returning(s cordonState) cordonState { return s.returned() }

// others is what another party does with kubectl.
func others(unschedulable bool) change {
	return func(s cordonState) cordonState {
		s.unschedulable = unschedulable
		return s
	}
}

func TestACordonEndsWithTheLastWhoWantsIt(t *testing.T) {
	for name, tc := range map[string]struct {
		changes           []change
		wantUnschedulable bool
		wantOwners        []string
		wantBefore        *Foreign
	}{
		"a node that nobody has touched": {nil, false, nil, nil},
		"cordoned for an event":          {[]change{cordon("a")}, true, []string{"a"}, nil},
		"cordoned twice for an event":    {[]change{cordon("a"), cordon("a")}, true, []string{"a"}, nil},
		"cordoned for two events":        {[]change{cordon("a"), cordon("b")}, true, []string{"a", "b"}, nil},

		"released by its only event":         {[]change{cordon("a"), release("a")}, false, nil, nil},
		"released twice":                     {[]change{cordon("a"), release("a"), release("a")}, false, nil, nil},
		"released by the first of two":       {[]change{cordon("a"), cordon("b"), release("a")}, true, []string{"b"}, nil},
		"released by the second of two":      {[]change{cordon("a"), cordon("b"), release("b")}, true, []string{"a"}, nil},
		"released by both":                   {[]change{cordon("a"), cordon("b"), release("a"), release("b")}, false, nil, nil},
		"released by one that has no cordon": {[]change{cordon("a"), release("b")}, true, []string{"a"}, nil},
		"released though nobody cordoned it": {[]change{release("a")}, false, nil, nil},

		"returned":                           {[]change{cordon("a"), returning}, false, nil, nil},
		"returned from two cordons":          {[]change{cordon("a"), cordon("b"), returning}, false, nil, nil},
		"returned twice":                     {[]change{cordon("a"), returning, returning}, false, nil, nil},
		"returned though nobody cordoned it": {[]change{returning}, false, nil, nil},

		"cordoned by others, then for an event":    {[]change{others(true), cordon("a")}, true, []string{"a"}, &kubectl},
		"cordoned by others, returned":             {[]change{others(true), cordon("a"), returning}, true, nil, nil},
		"cordoned by others, released":             {[]change{others(true), cordon("a"), release("a")}, true, nil, nil},
		"cordoned by others, for two, one is left": {[]change{others(true), cordon("a"), cordon("b"), release("a")}, true, []string{"b"}, &kubectl},
		"cordoned by others, for two, released":    {[]change{others(true), cordon("a"), cordon("b"), release("a"), release("b")}, true, nil, nil},
		"cordoned by others alone, returned":       {[]change{others(true), returning}, true, nil, nil},
		"cordoned by others alone, released":       {[]change{others(true), release("a")}, true, nil, nil},
		"cordoned by others after us is taken for ours": {
			[]change{cordon("a"), others(true), returning}, false, nil, nil,
		},

		"uncordoned by others, returned":            {[]change{cordon("a"), others(false), returning}, false, nil, nil},
		"uncordoned by others, released":            {[]change{cordon("a"), others(false), release("a")}, false, nil, nil},
		"uncordoned by others, cordoned again":      {[]change{cordon("a"), others(false), cordon("a")}, true, []string{"a"}, nil},
		"cordoned and uncordoned by others":         {[]change{others(true), cordon("a"), others(false), returning}, false, nil, nil},
		"uncordoned by others, for a second event":  {[]change{others(true), cordon("a"), others(false), cordon("b")}, true, []string{"a", "b"}, nil},
		"uncordoned by others, for two, returned":   {[]change{others(true), cordon("a"), others(false), cordon("b"), returning}, false, nil, nil},
		"cordoned by others between two of our own": {[]change{cordon("a"), release("a"), others(true), cordon("b"), returning}, true, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var got cordonState
			for _, f := range tc.changes {
				got = f(got)
			}
			want := cordonState{unschedulable: tc.wantUnschedulable, cordons: cordons.Record{Before: tc.wantBefore}}
			for _, owner := range tc.wantOwners {
				want.cordons.Owners = append(want.cordons.Owners, ownerOf(owner))
			}
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(cordonState{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAChangeLeavesTheStateBeforeItAlone(t *testing.T) {
	before := cordon("b")(cordon("a")(cordonState{}))
	want := cordon("b")(cordon("a")(cordonState{}))
	for name, f := range map[string]change{"cordon": cordon("c"), "release": release("a"), "return": returning} {
		f(before)
		if diff := cmp.Diff(want, before, cmp.AllowUnexported(cordonState{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTheListOfOwnersIsBounded(t *testing.T) {
	var state cordonState
	for i := range maxOwners + 4 {
		state = cordon(fmt.Sprintf("event-%02d", i))(state)
	}
	if got := len(state.cordons.Owners); got != maxOwners {
		t.Errorf("there are %d owners; want %d", got, maxOwners)
	}
	if got := state.cordons.Owners[0].Event; got != "event-04" {
		t.Errorf("the oldest owner is %s; want event-04", got)
	}
}

func nodeWith(unschedulable bool, annotation string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{Unschedulable: unschedulable}}
	if annotation != "" {
		node.Annotations = map[string]string{CordonsAnnotation: annotation}
	}
	return node
}

func TestOwnersAreReadFromTheAnnotation(t *testing.T) {
	for name, tc := range map[string]struct {
		node *corev1.Node
		want []types.UID
	}{
		"no Node":           {nil, nil},
		"no annotation":     {nodeWith(true, ""), nil},
		"two owners":        {nodeWith(true, `{"owners":[{"event":"a","uid":"1"},{"event":"b","uid":"2"}]}`), []types.UID{"1", "2"}},
		"text":              {nodeWith(true, "mine"), nil},
		"another type":      {nodeWith(true, `{"owners":"me"}`), nil},
		"an owner of sorts": {nodeWith(true, `{"owners":[{"event":"a","uid":"1"},{"uid":7}]}`), nil},
		"fields to come":    {nodeWith(true, `{"owners":[{"uid":"1","lease":"x"}],"version":2}`), []types.UID{"1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Owners(tc.node)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPatchSaysOnlyWhatChanges(t *testing.T) {
	const owned = `{\"owners\":[{\"event\":\"a\",\"uid\":\"a-uid\",\"since\":\"2026-01-02T03:04:05Z\"}]}`
	const ownedAfterOthers = `{\"owners\":[{\"event\":\"a\",\"uid\":\"a-uid\",\"since\":\"2026-01-02T03:04:05Z\"}],` +
		`\"before\":{\"by\":\"kubectl\",\"since\":\"2026-01-02T02:04:05Z\"}}`
	for name, tc := range map[string]struct {
		from   []change
		change change
		want   string // a JSON merge patch; empty: nothing is written
	}{
		"to cordon": {
			nil, cordon("a"),
			`{"metadata":{"annotations":{"slipway.dev/cordons":"` + owned + `"},"resourceVersion":"7"},"spec":{"unschedulable":true}}`,
		},
		// Whoever has cordoned it stays the manager of the field, and can be named.
		"to cordon what others have cordoned leaves unschedulable alone": {
			[]change{others(true)},
			cordon("a"),
			`{"metadata":{"annotations":{"slipway.dev/cordons":"` + ownedAfterOthers + `"},"resourceVersion":"7"}}`,
		},
		"to cordon once more": {[]change{cordon("a")}, cordon("a"), ""},
		"to cordon what others have uncordoned": {
			[]change{cordon("a"), others(false)},
			cordon("a"),
			`{"metadata":{"resourceVersion":"7"},"spec":{"unschedulable":true}}`,
		},
		"to release the last": {
			[]change{cordon("a")},
			release("a"),
			`{"metadata":{"annotations":{"slipway.dev/cordons":null},"resourceVersion":"7"},"spec":{"unschedulable":null}}`,
		},
		"to release one of two leaves unschedulable alone": {
			[]change{cordon("a"), cordon("b")},
			release("b"),
			`{"metadata":{"annotations":{"slipway.dev/cordons":"` + owned + `"},"resourceVersion":"7"}}`,
		},
		"to release what was not cordoned": {[]change{others(true)}, release("a"), ""},
		"to return": {
			[]change{cordon("a")},
			returning,
			`{"metadata":{"annotations":{"slipway.dev/cordons":null},"resourceVersion":"7"},"spec":{"unschedulable":null}}`,
		},
		"to return what others have cordoned leaves unschedulable alone": {
			[]change{others(true), cordon("a")},
			returning,
			`{"metadata":{"annotations":{"slipway.dev/cordons":null},"resourceVersion":"7"}}`,
		},
		"to return what is schedulable": {nil, returning, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var from cordonState
			for _, f := range tc.from {
				from = f(from)
			}
			got, err := from.patch(tc.change(from), "7")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// What cannot be read was not written by us: such a cordon is another party's.
func TestAnUnreadableAnnotationCountsAsNone(t *testing.T) {
	for name, tc := range map[string]struct {
		node              *corev1.Node
		change            change
		wantUnschedulable bool
		wantOwners        int
	}{
		"cordoned for an event":  {nodeWith(false, "?"), cordon("a"), true, 1},
		"released":               {nodeWith(true, "?"), release("a"), true, 0},
		"returned":               {nodeWith(true, "?"), returning, true, 0},
		"schedulable, returning": {nodeWith(false, "?"), returning, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := tc.change(stateOf(tc.node))
			if got.unschedulable != tc.wantUnschedulable || len(got.cordons.Owners) != tc.wantOwners {
				t.Errorf("got %+v; want unschedulable %v, %d owners", got, tc.wantUnschedulable, tc.wantOwners)
			}
		})
	}
}

// Annotations outlive versions of Slipway.
func TestTheAnnotationStaysReadable(t *testing.T) {
	const text = `{"owners":[{"event":"drain-worker-1","uid":"u1","since":"2026-01-02T03:04:05Z"}],` +
		`"before":{"by":"kubectl","since":"2026-01-02T02:04:05Z"}}`
	want := cordons.Record{
		Owners: []Owner{{Event: "drain-worker-1", UID: "u1", Since: epoch}},
		Before: &Foreign{By: "kubectl", Since: epoch.Add(-time.Hour)},
	}
	var got cordons.Record
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
	written, err := textOf(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, written); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
}

func TestItIsKnownForWhomANodeIsCordoned(t *testing.T) {
	node := func(unschedulable bool, annotation string) *corev1.Node {
		n := &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: unschedulable}}
		if annotation != "" {
			n.Annotations = map[string]string{CordonsAnnotation: annotation}
		}
		return n
	}
	const drained = `{"owners":[{"event":"drain","uid":"drain-uid","since":"2026-01-02T03:04:05Z"}]`
	for name, tc := range map[string]struct {
		node   *corev1.Node
		ours   []Owner
		others *Foreign
	}{
		"for nobody":                 {node(false, ""), nil, nil},
		"for nobody any more":        {node(false, drained+"}"), nil, nil},
		"for us":                     {node(true, drained+"}"), []Owner{ownerOf("drain")}, nil},
		"for us and others":          {node(true, drained+`,"before":{"by":"kubectl"}}`), []Owner{ownerOf("drain")}, &Foreign{By: "kubectl"}},
		"by somebody who is unknown": {node(true, ""), nil, &Foreign{}},
	} {
		t.Run(name, func(t *testing.T) {
			ours, others := Cordons(tc.node)
			if diff := cmp.Diff(tc.ours, ours); diff != "" {
				t.Errorf("ours (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.others, others); diff != "" {
				t.Errorf("of others (-want +got):\n%s", diff)
			}
		})
	}
}
