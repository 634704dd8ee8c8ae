// SPDX-License-Identifier: Apache-2.0

package forecast

import "slices"

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
