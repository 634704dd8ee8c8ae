// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// unforeseen are the reasons that Preview says it does not predict.
const unforeseen = `NodeNotCordoned NodeTaintMissing NodeGone EvictionRefused DeletionRefused EvictionTimedOut EvictionWithoutEffect NamespaceTerminating
APIServerUnavailable APIServerOverloaded ReadRefused Frozen PodTimedOut VolumeAttached
AwaitingResponder ResponderMissing RespondersFailed EvictionAPIMissing`

// Each reason has been predicted (everyOutcome has occurred in generated clusters), or Preview says that it is not.
func TestEveryReasonIsPredictedOrSaidNotToBe(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "status.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok {
			return true
		}
		reason, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		count++
		foreseen := strings.Contains(strings.Join(everyOutcome, " ")+" ", " "+reason+" ")
		said := strings.Contains(" "+strings.ReplaceAll(unforeseen, "\n", " ")+" ", " "+reason+" ")
		if foreseen == said {
			t.Errorf("%s: predicted %t, said not to be %t", reason, foreseen, said)
		}
		return true
	})
	if count < 20 {
		t.Errorf("status.go has %d reasons", count)
	}
}
