// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Refused checks that the API server refused something as invalid, and that it said
// where and why.
func Refused(t *testing.T, err error, parts ...string) {
	t.Helper()
	if !apierrors.IsInvalid(err) {
		t.Fatalf("got error %v; want that it is invalid: %q", err, parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the API server says %q; want it to say %q", err, part)
		}
	}
}
