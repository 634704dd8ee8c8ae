// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Row is a line of the table: a batch, or several that are alike.
type Row struct {
	// From and To are the numbers of the first batch and the last.
	From, To int
	// Condition is what has to happen before the first.
	Condition string
	// Domains are the values of the topology key of its nodes, in their order.
	Domains []string
	// Names are its nodes, and Each is how many of them a batch has.
	Names []string
	Each  int
	// ControlPlane: they are of the control plane.
	ControlPlane bool
	// Leave is how many pods leave, if Known.
	Leave int
	Known bool
	// Blocked is on how many nodes something blocks.
	Blocked int
}

// Rows are the batches in their order. Unless all are wanted, three and more that follow each
// other and are alike are one row: as many nodes of the same domains, on which nothing blocks, in
// the order of their names.
func (f Forecast) Rows(all bool) []Row {
	const least = 3
	var rows []Row
	for i := 0; i < len(f.Batches); {
		row := rowOf(f.Batches[i])
		j := i + 1
		for j < len(f.Batches) && row.like(rowOf(f.Batches[j])) {
			j++
		}
		if all || j-i < least {
			rows = append(rows, row)
			i++
			continue
		}
		for _, b := range f.Batches[i+1 : j] {
			row.join(rowOf(b))
		}
		rows = append(rows, row)
		i = j
	}
	return rows
}

func rowOf(b Batch) Row {
	row := Row{From: b.Number, To: b.Number, Condition: b.Condition, Each: len(b.Nodes)}
	for _, n := range b.Nodes {
		row.Names = append(row.Names, n.Name)
		row.ControlPlane = row.ControlPlane || n.ControlPlane
		if !slices.Contains(row.Domains, n.Domain) {
			row.Domains = append(row.Domains, n.Domain)
		}
		if n.Drain != nil {
			row.Known = true
			row.Leave += n.Drain.Leave
		}
		if n.blocks() {
			row.Blocked++
		}
	}
	slices.Sort(row.Domains)
	return row
}

// like tells whether the next batch goes into the same row.
func (r Row) like(next Row) bool {
	return r.Blocked == 0 && next.Blocked == 0 && next.Condition == "" && r.Each == next.Each && r.ControlPlane == next.ControlPlane &&
		slices.Equal(r.Domains, next.Domains) &&
		byName(slices.MaxFunc(r.Names, byName), slices.MinFunc(next.Names, byName)) < 0
}

// byName compares names as people count: worker-9 comes before worker-10.
func byName(a, b string) int { return numberedOf(a).compare(numberedOf(b)) }

func (r *Row) join(next Row) {
	r.To = next.To
	r.Names = append(r.Names, next.Names...)
	r.Leave += next.Leave
}

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
