// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"time"
)

// sight is a screen as it was seen.
type sight struct {
	screen screen
	at     time.Time
	typed  bool          // it is the echo of a key
	hold   time.Duration // how long it is to stand at least, to be read
}

// frame is a screen of the recording, and how long it stands.
type frame struct {
	screen screen
	stands time.Duration
}

const (
	// keystroke is the pace of a person who types.
	keystroke = 55 * time.Millisecond
	// longest is what is left of a time in which nothing happens.
	longest = 900 * time.Millisecond
	// shortest is what the eye can follow; changes that come faster are one.
	shortest = 40 * time.Millisecond
)

// timeline is the recording of what was seen: screens that nobody could have told apart
// are one, and times are as a reader wants them.
func timeline(sights []sight) []frame {
	var frames []frame
	for i, s := range sights {
		stands := s.hold
		if i+1 < len(sights) {
			stands += pause(s, sights[i+1])
		}
		if stands < shortest && i+1 < len(sights) {
			continue
		}
		if last := len(frames) - 1; last >= 0 && reflect.DeepEqual(frames[last].screen, s.screen) {
			frames[last].stands += stands
			continue
		}
		frames = append(frames, frame{s.screen, stands})
	}
	return frames
}

func pause(s, next sight) time.Duration {
	if next.typed {
		return keystroke
	}
	return min(next.at.Sub(s.at), longest)
}
