// SPDX-License-Identifier: Apache-2.0

// Package sample has something of everything that a mistake can be made in.
package sample

import (
	"errors"
	"log/slog"
	"time"
)

const patience = 30 * time.Second

// Limits is how much there may be.
const Limits = 3

type answer struct {
	Name  string
	Count int
	Late  bool
}

func judge(names []string, asked, now time.Time) (*answer, error) {
	if len(names) == 0 || names[0] == "" {
		return nil, errors.New("no name")
	}
	slog.Info("names are judged", "count", len(names))
	count := 0
	for _, name := range names {
		if name == "skip" {
			continue
		}
		count += 2 * len(name)
	}
	return &answer{Name: names[0], Count: count - 1, Late: asked.Before(now.Add(-patience))}, nil
}

func kind(n int) string {
	text := ""
	switch {
	case n < 0:
		return "negative"
	case n > Limits && n != 7:
		text = "many"
	default:
		text = "some"
	}
	return text
}

func both(names []string, now time.Time) (*answer, error) { return judge(names, now, now) }

func unseen() bool { return true }
