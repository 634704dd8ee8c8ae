// SPDX-License-Identifier: Apache-2.0

package meter

import (
	"fmt"
	"strconv"
	"strings"
)

// sample is one value of a metric, as /metrics has it.
type sample struct {
	labels map[string]string
	value  float64
}

// scrape reads the samples of the metrics of these names from the text of /metrics. A name that
// is not there has none.
func scrape(text string, names ...string) (map[string][]sample, error) {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	found := map[string][]sample{}
	for line := range strings.Lines(text) {
		end := strings.IndexAny(line, "{ ")
		if end < 0 || line[0] == '#' || !wanted[line[:end]] {
			continue
		}
		s, err := parse(line[end:])
		if err != nil {
			return nil, fmt.Errorf("read metrics: %q: %w", strings.TrimSpace(line), err)
		}
		found[line[:end]] = append(found[line[:end]], s)
	}
	return found, nil
}

// parse reads what follows the name of a metric: {label="value",…} value.
func parse(rest string) (sample, error) {
	s := sample{labels: map[string]string{}}
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "{") {
		rest = rest[1:]
		for !strings.HasPrefix(rest, "}") {
			name, after, ok := strings.Cut(rest, "=")
			quoted, err := strconv.QuotedPrefix(after)
			if err != nil || !ok {
				return s, fmt.Errorf("a label has no value: %w", strconv.ErrSyntax)
			}
			if s.labels[name], err = strconv.Unquote(quoted); err != nil {
				return s, err
			}
			rest = strings.TrimPrefix(after[len(quoted):], ",")
		}
		rest = rest[1:]
	}
	value, _, _ := strings.Cut(strings.TrimSpace(rest), " ") // a time may follow
	var err error
	s.value, err = strconv.ParseFloat(value, 64)
	return s, err
}

// sum is that of all samples that are wanted.
func sum(samples []sample, wanted func(labels map[string]string) bool) float64 {
	total := 0.0
	for _, s := range samples {
		if wanted(s.labels) {
			total += s.value
		}
	}
	return total
}

// by sums samples up by one of their labels. Those that come to nothing are left out.
func by(samples []sample, label string, wanted func(labels map[string]string) bool) map[string]float64 {
	sums := map[string]float64{}
	for _, s := range samples {
		if s.value != 0 && wanted(s.labels) {
			sums[s.labels[label]] += s.value
		}
	}
	return sums
}

func all(map[string]string) bool { return true }
