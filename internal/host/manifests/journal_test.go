// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

var written = staticpod.Journal{
	Wanted: []string{"kube-system/proxy-w1"},
	Away:   []staticpod.Entry{{File: "proxy.yaml", Pod: "kube-system/proxy-w1", Sum: "5feceb66", State: staticpod.Away}},
}

// The bytes are those that the next version finds.
const onTheDisk = `c70409250aa59d88e87abdd5b84a3419295768a66ecd3a81bfd19a9f68db85d5
{"version":1,"wanted":["kube-system/proxy-w1"],"away":[{"file":"proxy.yaml","pod":"kube-system/proxy-w1","sum":"5feceb66","state":"Away"}]}
`

func TestTheJournalOnTheDisk(t *testing.T) {
	text, err := encode(written)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(onTheDisk, string(text)); diff != "" {
		t.Error(diff)
	}
	read, err := decode([]byte(onTheDisk))
	if diff := cmp.Diff(written, read); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// A journal that lacks its end, or has one bit wrong, is none; nor is one of another version.
func TestAJournalThatIsNotWhole(t *testing.T) {
	whole, err := encode(written)
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		if j, err := decode(whole[:n]); err == nil {
			t.Errorf("%d of %d bytes are a journal: %+v", n, len(whole), j)
		}
		for bit := range 8 {
			wrong := bytes.Clone(whole)
			wrong[n] ^= 1 << bit
			if j, err := decode(wrong); err == nil {
				t.Errorf("with bit %d of byte %d wrong it is a journal: %+v", bit, n, j)
			}
		}
	}
	for _, text := range []string{`{"version":2}`, `{}`, `[]`} {
		if _, err := decode(signed(text)); err == nil {
			t.Errorf("%s is a journal", text)
		}
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte(onTheDisk))
	f.Add(signed(`{"version":1,"away":[null]}`))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		j, err := decode(content)
		if err != nil {
			return
		}
		again, err := encode(j)
		if err != nil {
			t.Fatal(err)
		}
		read, err := decode(again)
		if diff := cmp.Diff(j, read); diff != "" || err != nil {
			t.Errorf("%s: %v", diff, err)
		}
	})
}
