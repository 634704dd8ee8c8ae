// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"
	"testing"
	"testing/synctest"
)

func TestTheStatusReporterSkipsWhatIsOutOfDateButNeverTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []int
		busy := make(chan struct{})
		p := newStatusReporter(func(s Status) {
			got = append(got, s.Done) // a second call at the same time would be a data race
			<-busy
		})
		for done := 1; done <= 5; done++ {
			p.offer(Status{Total: 5, Done: done})
			if done == 1 {
				synctest.Wait()
			}
		}
		p.offer(Status{Total: 5, Done: 5})
		close(busy)
		p.close()
		if want := []int{1, 5}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

func TestTheStatusReporterDeliversTheLastBeforeItCloses(t *testing.T) {
	var got Status
	p := newStatusReporter(func(s Status) { got = s })
	p.offer(Status{Message: "bye"})
	p.close()
	if got.Message != "bye" {
		t.Errorf("got %+v", got)
	}
}

func TestAStatusReporterWithoutAReceiver(t *testing.T) {
	p := newStatusReporter(nil)
	p.offer(Status{Message: "hello"})
	p.close()
}
