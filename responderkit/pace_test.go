// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// story is a run whose time is the script's.
type story struct {
	facts

	now time.Time
	out strings.Builder
}

// TestPace is when what is written. In the scripts, times count from the beginning.
//
//	begin [start=D] [heartbeat=D] [message=M]  what the entry has when the process begins
//	report [message=M] [expected=D]            the run reports
//	wait for=D                                 time goes by; what is written is printed
//	return [error=E]                           the run returns
func TestPace(t *testing.T) {
	datadriven.Walk(t, "testdata/pace", func(t *testing.T, path string) {
		s := &story{now: epoch}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s.out.Reset()
			switch d.Cmd {
			case "begin":
				s.begin(t, d)
			case "report":
				s.progress = Progress{Message: text(messageOf(d))}
				if d.HasArg("expected") {
					s.progress.ExpectedCompletion = epoch.Add(length(t, d, "expected"))
				}
				s.passUntil(s.now)
			case "wait":
				s.passUntil(s.now.Add(length(t, d, "for")))
			case "return":
				s.returned = true
				if d.HasArg("error") {
					failure := ""
					d.ScanArgs(t, "error", &failure)
					s.failure = errors.New(failure)
				}
				s.passUntil(s.now)
			default:
				t.Fatalf("no such command: %s", d.Cmd)
			}
			if s.out.Len() == 0 {
				return "nothing is written\n"
			}
			return s.out.String()
		})
	})
}

func (s *story) begin(t *testing.T, d *datadriven.TestData) {
	at := func(key string) *metav1.Time {
		if !d.HasArg(key) {
			return nil
		}
		return &metav1.Time{Time: epoch.Add(length(t, d, key))}
	}
	s.facts = facts{entry: evictionv1alpha1.ResponderStatus{StartTime: at("start"), HeartbeatTime: at("heartbeat"), Message: messageOf(d)}}
	s.progress.Message = text(s.entry.Message)
	s.passUntil(s.now)
}

func messageOf(d *datadriven.TestData) *string {
	for _, arg := range d.CmdArgs {
		if arg.Key == "message" {
			return &arg.Vals[0]
		}
	}
	return nil
}

func length(t *testing.T, d *datadriven.TestData, key string) time.Duration {
	var text string
	d.ScanArgs(t, key, &text)
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return length
}

// passUntil writes what is to be written until then.
func (s *story) passUntil(end time.Time) {
	for s.entry.CompletionTime == nil {
		entry, beats, wait := next(s.facts, s.now)
		if entry == nil {
			if s.now.Add(wait).After(end) {
				break
			}
			s.now = s.now.Add(wait)
			continue
		}
		s.tell(*entry)
		s.entry, s.followed = *entry, !beats
		if beats {
			s.beat = s.now
		}
	}
	s.now = end
}

func (s *story) tell(entry evictionv1alpha1.ResponderStatus) {
	fmt.Fprintf(&s.out, "%s: heartbeat=%s", s.now.Sub(epoch), since(entry.HeartbeatTime))
	if entry.ExpectedCompletionTime != nil {
		fmt.Fprintf(&s.out, " expected=%s", since(entry.ExpectedCompletionTime))
	}
	if entry.Message != nil {
		fmt.Fprintf(&s.out, " message=%q", *entry.Message)
	}
	if entry.CompletionTime != nil {
		fmt.Fprintf(&s.out, " completed=%s", since(entry.CompletionTime))
	}
	fmt.Fprintln(&s.out)
}

func since(at *metav1.Time) string {
	if at == nil {
		return "none"
	}
	return at.Sub(epoch).String()
}

func TestAMessageIsClippedToWhatTheAPIAllows(t *testing.T) {
	for name, tc := range map[string]struct{ message, want string }{
		"a short one stays":          {"copying", "copying"},
		"one of 4000 characters too": {strings.Repeat("ü", 4000), strings.Repeat("ü", 4000)},
		"a longer one is cut":        {strings.Repeat("ü", 4001), strings.Repeat("ü", 3999) + "…"},
		"what is no text is marked":  {"a\xffb", "a\uFFFDb"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := clip(tc.message); got != tc.want {
				t.Errorf("%q (%d characters), want %q", got, utf8.RuneCountInString(got), tc.want)
			}
		})
	}
}

// What the server's validation asks of every write, whatever the run reports and
// whenever, with a clock that is off by less than the server bears.
func TestWhatIsWrittenIsAlwaysAcceptable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		skew := time.Duration(rapid.IntRange(-29, 29).Draw(t, "skew")) * time.Second
		f := facts{entry: evictionv1alpha1.ResponderStatus{StartTime: &metav1.Time{Time: epoch}}}
		server := epoch
		var lastHeartbeat time.Time
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			server = server.Add(time.Duration(rapid.IntRange(0, 400_000).Draw(t, "ms")) * time.Millisecond)
			f.progress = Progress{
				Message:            rapid.StringN(0, 10, -1).Draw(t, "message"),
				ExpectedCompletion: server.Add(time.Duration(rapid.IntRange(-600, 600).Draw(t, "expected")) * time.Second),
			}
			now := server.Add(skew)
			entry, beats, wait := next(f, now)
			if entry == nil {
				if wait <= 0 || wait > heartbeatEvery+serverSkew {
					t.Fatalf("it waits %s", wait)
				}
				continue
			}
			check(t, f.entry, *entry, server)
			if f.followed && !beats {
				t.Fatal("two changes are written after one heartbeat")
			}
			if beat := entry.HeartbeatTime.Time; beats && !lastHeartbeat.IsZero() && now.Sub(lastHeartbeat) < heartbeatGap {
				t.Fatalf("heartbeat at %s after one at %s", beat, lastHeartbeat)
			}
			f.entry, f.followed = *entry, !beats
			if beats {
				f.beat, lastHeartbeat = now, now
			}
		}
	})
}

// check is the server's validation, in short.
func check(t *rapid.T, before, after evictionv1alpha1.ResponderStatus, server time.Time) {
	beat := after.HeartbeatTime
	switch {
	case beat == nil, beat.Before(before.HeartbeatTime), beat.Before(after.StartTime):
		t.Fatalf("heartbeat %v after %v", beat, before.HeartbeatTime)
	case !beat.Equal(before.HeartbeatTime) && beat.Sub(server).Abs() > serverSkew:
		t.Fatalf("heartbeat %v is %s off", beat, beat.Sub(server))
	}
	expected := after.ExpectedCompletionTime
	if expected != nil && !expected.Equal(before.ExpectedCompletionTime) &&
		(expected.Before(after.StartTime) || expected.Time.Before(server.Add(-serverSkew))) {
		t.Fatalf("expectedCompletionTime %v is in the past", expected)
	}
}
