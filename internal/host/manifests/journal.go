// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

// journalName is that of the journal, in the folder of what is away.
const journalName = ".journal"

// version of the journal. One of another version cannot be read.
const version = 1

// onDisk is the journal as it is written, after a line with its sum.
type onDisk struct {
	Version int `json:"version"`
	staticpod.Journal
}

var errTorn = errors.New("it is not whole, or not ours")

func encode(j staticpod.Journal) ([]byte, error) {
	text, err := json.Marshal(onDisk{version, j})
	if err != nil {
		return nil, fmt.Errorf("encode the journal: %w", err)
	}
	return fmt.Appendf(nil, "%x\n%s\n", sha256.Sum256(text), text), nil
}

// decode reads what encode has written, and nothing else: a journal that lacks one byte is
// none.
func decode(content []byte) (staticpod.Journal, error) {
	sum, text, found := bytes.Cut(content, []byte("\n"))
	text, ended := bytes.CutSuffix(text, []byte("\n"))
	if !found || !ended || string(sum) != fmt.Sprintf("%x", sha256.Sum256(text)) {
		return staticpod.Journal{}, errTorn
	}
	var j onDisk
	if err := json.Unmarshal(text, &j); err != nil || j.Version != version {
		return staticpod.Journal{}, errTorn
	}
	return j.Journal, nil
}
