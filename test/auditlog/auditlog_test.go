// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const sample = `{"auditID":"1","stage":"RequestReceived","verb":"watch","objectRef":{"resource":"pods"}}
{"auditID":"2","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/shop/pods/cart-0/eviction","verb":"create","user":{"username":"system:serviceaccount:slipway-system:agent"},"impersonatedUser":{"username":"system:node:w1"},"objectRef":{"resource":"pods","subresource":"eviction","namespace":"shop","name":"cart-0"},"responseStatus":{"code":429},"requestReceivedTimestamp":"2026-01-02T03:04:05.000001Z","stageTimestamp":"2026-01-02T03:04:05.500000Z"}
{"auditID":"3","stage":"ResponseComp`

func TestReadGivesTheRequestsThatWereAnswered(t *testing.T) {
	requests, err := Read(strings.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range requests {
		got = append(got, r.String())
	}
	want := []string{"03:04:05.500 create pods/eviction shop/cart-0 429 by system:serviceaccount:slipway-system:agent as system:node:w1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReadNamesTheLineThatItCannotRead(t *testing.T) {
	_, err := Read(strings.NewReader("{}\nnonsense\n"))
	if err == nil || !strings.Contains(err.Error(), "line 2") {
		t.Errorf("got error %v; want one that names line 2", err)
	}
}

func TestATailReadsEachLineOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "audit.log")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var tail Tail
	var got []string
	line := func(id string) string { return `{"stage":"ResponseComplete","auditID":"` + id + "\"}\n" }
	for _, written := range []string{line("one") + line("two")[:9], line("two")[9:], "", line("three") + line("four")} {
		if _, err := file.WriteString(written); err != nil {
			t.Fatal(err)
		}
		requests, err := tail.Requests(path)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, r := range requests {
			ids = append(ids, r.ID)
		}
		got = append(got, strings.Join(ids, " "))
	}
	if diff := cmp.Diff([]string{"one", "two", "", "three four"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
