// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/hinshun/vt10x"
	"k8s.io/utils/clock"
)

func TestAScreenIsWhatTheTerminalShows(t *testing.T) {
	terminal := vt10x.New(vt10x.WithSize(20, 3))
	write(t, terminal, "$ say\r\n\x1b[31mno\x1b[0m, \x1b[1mnever\x1b[0m   \r\n")
	got := screenOf(terminal)
	want := screen{
		rows: []row{
			{{column: 0, text: "$ say"}},
			{{column: 0, text: "no", class: "bad"}, {column: 2, text: ", "}, {column: 4, text: "never", class: "strong"}},
			nil,
		},
		cursor: position{0, 2},
		shown:  true,
	}
	if diff := cmp.Diff(want, got, allowUnexported); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got, want := got.String(), "$ say\nno, never\n\n"; got != want {
		t.Errorf("as text: got %q, want %q", got, want)
	}
}

func TestFaintTextIsGreyHoweverItArrives(t *testing.T) {
	const text = "a\x1b[2mb\x1b[0mc\x1b[32md"
	for cut := range len(text) {
		var g greyer
		got := string(g.instead([]byte(text[:cut]))) + string(g.instead([]byte(text[cut:])))
		if want := "a\x1b[90mb\x1b[0mc\x1b[32md"; got != want {
			t.Errorf("cut after %d bytes: got %q, want %q", cut, got, want)
		}
	}
}

func TestTimelines(t *testing.T) {
	at := func(ms int) time.Time { return time.UnixMilli(int64(ms)) }
	one, two, three := shows("one"), shows("two"), shows("three")
	for _, tc := range []struct {
		name   string
		sights []sight
		want   []frame
	}{
		{
			name:   "what changes stands until it does",
			sights: []sight{{screen: one, at: at(0)}, {screen: two, at: at(300)}},
			want:   []frame{{one, 300 * time.Millisecond}, {two, 0}},
		},
		{
			name:   "waiting is cut short",
			sights: []sight{{screen: one, at: at(0)}, {screen: two, at: at(60_000)}},
			want:   []frame{{one, longest}, {two, 0}},
		},
		{
			name:   "keys are pressed at the pace of a person",
			sights: []sight{{screen: one, at: at(0)}, {screen: two, at: at(1), typed: true}},
			want:   []frame{{one, keystroke}, {two, 0}},
		},
		{
			name:   "what is to be read stands",
			sights: []sight{{screen: one, at: at(0), hold: time.Second}, {screen: two, at: at(100), hold: time.Second}},
			want:   []frame{{one, 1100 * time.Millisecond}, {two, time.Second}},
		},
		{
			name:   "what nobody can see is left out",
			sights: []sight{{screen: one, at: at(0)}, {screen: two, at: at(100)}, {screen: three, at: at(101)}},
			want:   []frame{{one, 100 * time.Millisecond}, {three, 0}},
		},
		{
			name:   "what looks the same is one",
			sights: []sight{{screen: one, at: at(0)}, {screen: one, at: at(100)}, {screen: two, at: at(200)}},
			want:   []frame{{one, 200 * time.Millisecond}, {two, 0}},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, timeline(tc.sights), allowUnexported); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestThePictureIsWellFormedAndDefinesARowOnce(t *testing.T) {
	again := shows("$ kubectl get <pod> & \"more\"")
	got := draw([]frame{{again, time.Second}, {shows("other"), time.Second}, {again, time.Second}}, 40, 2, "a <title>")
	decoder := xml.NewDecoder(strings.NewReader(got))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in:\n%s", err, got)
		}
	}
	if n := strings.Count(got, "kubectl get &lt;pod&gt; &amp;"); n != 1 {
		t.Errorf("the row that is seen twice is there %d times in:\n%s", n, got)
	}
	for _, want := range []string{
		`#f1{animation-name:k1}@keyframes k1{0%{visibility:hidden}33.333%{visibility:visible}66.667%{visibility:hidden}}`,
		`#f2{animation-name:k2}@keyframes k2{0%{visibility:hidden}66.667%{visibility:visible}}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s in:\n%s", want, got)
		}
	}
}

func TestAShellIsSeen(t *testing.T) {
	s, err := startShell(t.Context(), clock.RealClock{}, 60, 5, os.Environ())
	if err != nil {
		t.Fatal(err)
	}
	a := act{command: "sh -c 'echo $((6*7)) is it; exec sleep 1000'", until: regexp.MustCompile(`42 is it`), read: time.Second}
	if err := s.await(t.Context(), prompt); err != nil {
		t.Fatal(err)
	}
	if err := a.play(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	frames := timeline(s.seen())
	texts := make([]string, 0, len(frames))
	for _, f := range frames {
		texts = append(texts, f.screen.String())
	}
	for _, want := range []string{"$ sh -c 'ech\n\n\n\n\n", "$ sh -c 'echo $((6*7)) is it; exec sleep 1000'\n42 is it\n\n\n\n"} {
		found := false
		for _, text := range texts {
			found = found || text == want
		}
		if !found {
			t.Errorf("nobody has seen %q; seen: %q", want, texts)
		}
	}
}

var allowUnexported = cmp.AllowUnexported(screen{}, frame{}, run{}, position{})

func shows(text string) screen { return screen{rows: []row{{{text: text}}}} }

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}
