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
	// From is the number of the first batch, To of the last batch.
	From, To int
	// Condition must be true before the first batch.
	Condition string
	// Domains are the values of the topology key of its nodes, in their order.
	Domains []string
	// Names are its nodes, and Each is the number of nodes in a batch.
	Names []string
	Each  int
	// ControlPlane: they are of the control plane.
	ControlPlane bool
	// Leave is the number of pods that leave, if Known.
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

// like reports whether the next batch belongs into the same row.
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

// Names joins names into a short text, such as "worker-1 to worker-20, worker-31". Unless all are
// wanted, it counts the names after the first six parts.
func Names(names []string, all bool) string {
	const few, least = 6, 3
	sorted := make([]numbered, len(names))
	for i, name := range names {
		sorted[i] = numberedOf(name)
	}
	slices.SortFunc(sorted, numbered.compare)
	var parts []string
	for i := 0; i < len(sorted); {
		if !all && len(parts) == few {
			return fmt.Sprintf("%s and %d more", strings.Join(parts, ", "), len(sorted)-i)
		}
		j := i + 1
		for j < len(sorted) && sorted[j-1].precedes(sorted[j]) {
			j++
		}
		text := sorted[i].name
		if j-i < least {
			j = i + 1
		} else {
			text += " to " + sorted[j-1].name
		}
		parts = append(parts, text)
		i = j
	}
	return strings.Join(parts, ", ")
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

// precedes reports whether the other name is the next one: 9 and 10, 09 and 10, but not 9 and 010.
func (n numbered) precedes(other numbered) bool {
	padded := strings.HasPrefix(n.digits, "0") || strings.HasPrefix(other.digits, "0")
	return n.digits != "" && other.digits != "" && n.head == other.head && other.number == n.number+1 &&
		(!padded || len(n.digits) == len(other.digits))
}
