// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// few is how many names, or ranges of names, are said of many.
const few = 6

// Names says names in few words, such as "worker-1 to worker-20, worker-31". Unless all are
// wanted, only the first of many are said.
func Names(names []string, all bool) string {
	parts := ranges(names)
	said, rest := parts, 0
	if !all && len(parts) > few {
		said = parts[:few]
		for _, part := range parts[few:] {
			rest += part.count
		}
	}
	texts := make([]string, len(said))
	for i, part := range said {
		texts[i] = part.text
	}
	text := strings.Join(texts, ", ")
	if rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// part is a name, or a range of names that count on.
type part struct {
	text  string
	count int
}

// ranges puts at least three names together that count on, in the order of their numbers.
func ranges(names []string) []part {
	const least = 3
	all := make([]numbered, len(names))
	for i, name := range names {
		all[i] = numberedOf(name)
	}
	slices.SortFunc(all, numbered.compare)
	var parts []part
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && all[j-1].precedes(all[j]) {
			j++
		}
		if j-i >= least {
			parts = append(parts, part{all[i].name + " to " + all[j-1].name, j - i})
			i = j
			continue
		}
		for ; i < j; i++ {
			parts = append(parts, part{all[i].name, 1})
		}
	}
	return parts
}

// numbered is a name that may end with a number.
type numbered struct {
	name, head, digits string
	number             uint64
}

func numberedOf(name string) numbered {
	head := strings.TrimRight(name, "0123456789")
	n := numbered{name: name, head: head, digits: name[len(head):]}
	number, err := strconv.ParseUint(n.digits, 10, 64)
	if err != nil { // there is none, or it is longer than one to count with
		n.head, n.digits = name, ""
	}
	n.number = number
	return n
}

func (n numbered) compare(other numbered) int {
	return cmp.Or(cmp.Compare(n.head, other.head), cmp.Compare(n.number, other.number), cmp.Compare(n.name, other.name))
}

// precedes tells whether the other name is the next one: 9 and 10, 09 and 10, but not 9 and 010.
func (n numbered) precedes(other numbered) bool {
	padded := strings.HasPrefix(n.digits, "0") || strings.HasPrefix(other.digits, "0")
	return n.digits != "" && other.digits != "" && n.head == other.head && other.number == n.number+1 &&
		(!padded || len(n.digits) == len(other.digits))
}
