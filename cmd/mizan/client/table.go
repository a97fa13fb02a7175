package client

import (
	"bufio"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Column is a column of a table.
type Column struct {
	Name  string // heading, in capitals
	Right bool   // cells end at the same place, as numbers do

	// Rank orders the columns that are left out if a table is too wide: the highest rank first, and of equal ranks the last
	// column first. The first column is never left out.
	Rank int
}

// Bounds of a table's columns when they are shortened to fit.
const (
	minTextWidth  = 10 // of a column of texts
	minFirstWidth = 28 // of the first column, if it has texts
	shortIDWidth  = 9  // of a column of UUIDs: eight digits and an ellipsis
	columnGap     = 2  // spaces between columns
)

// tableBlock is the number of rows that a table keeps in memory to align its columns.
const tableBlock = 10_000

// Table writes rows with aligned columns. On a terminal that is too narrow for them it shortens times, ids and texts,
// and leaves out columns.
type Table struct {
	out      *bufio.Writer
	width    int // of the terminal; 0: none
	columns  []Column
	rows     [][]string
	hasTitle bool     // the heading is written
	omitted  []string // names of columns that were left out
}

// NewTable returns a table of a terminal of the width; 0: of any width.
func NewTable(out io.Writer, width int, columns []Column) *Table {
	return &Table{out: bufio.NewWriter(out), width: width, columns: columns}
}

// Add adds a row, with a cell for each column. Errors of writing are returned by Flush.
func (t *Table) Add(cells ...string) {
	t.rows = append(t.rows, cells)
	if len(t.rows) == tableBlock {
		t.writeRows()
	}
}

// Flush writes what is left and returns the first error of writing.
func (t *Table) Flush() error {
	t.writeRows()
	return t.out.Flush()
}

// Omitted returns the names of the columns that have values and were left out.
func (t *Table) Omitted() []string { return t.omitted }

// writeRows writes the rows in memory, and the heading before the first ones.
func (t *Table) writeRows() {
	if len(t.rows) == 0 {
		return
	}
	l := t.newLayout()
	if t.width > 0 {
		l.fit(t.width)
	}
	for i := range t.columns {
		if l.isOmitted[i] && !slices.Contains(t.omitted, t.columns[i].Name) {
			t.omitted = append(t.omitted, t.columns[i].Name)
		}
	}
	if !t.hasTitle {
		t.hasTitle = true
		names := make([]string, len(t.columns))
		for i := range t.columns {
			names[i] = t.columns[i].Name
		}
		t.writeRow(l, names)
	}
	for _, row := range t.rows {
		t.writeRow(l, row)
	}
	t.rows = t.rows[:0]
}

// writeRow writes one line. The last cell has no spaces after it.
func (t *Table) writeRow(l *layout, cells []string) {
	last := 0
	for i, width := range l.widths {
		if width > 0 {
			last = i
		}
	}
	for i, width := range l.widths {
		if width == 0 {
			continue
		}
		cell := cells[i]
		if runewidth.StringWidth(cell) > width {
			cell = runewidth.Truncate(cell, width, "…")
		}
		padding := strings.Repeat(" ", width-runewidth.StringWidth(cell))
		switch {
		case t.columns[i].Right:
			cell = padding + cell
		case i != last:
			cell += padding
		}
		_, _ = t.out.WriteString(cell)
		if i != last {
			_, _ = t.out.WriteString(strings.Repeat(" ", columnGap))
		}
	}
	_ = t.out.WriteByte('\n')
}

// layout has the widths of the columns of some rows. A column of width 0 is not shown.
type layout struct {
	columns   []Column
	rows      [][]string
	widths    []int
	isOmitted []bool // the column has values and is left out
}

func (t *Table) newLayout() *layout {
	l := &layout{columns: t.columns, rows: t.rows, widths: make([]int, len(t.columns)), isOmitted: make([]bool, len(t.columns))}
	for i := range t.columns {
		l.measure(i)
	}
	return l
}

// measure sets a column's width to that of its widest cell.
func (l *layout) measure(column int) {
	l.widths[column] = max(1, runewidth.StringWidth(l.columns[column].Name))
	for _, row := range l.rows {
		l.widths[column] = max(l.widths[column], runewidth.StringWidth(row[column]))
	}
}

// total returns the length of a line.
func (l *layout) total() (total int) {
	for _, width := range l.widths {
		if width > 0 {
			total += width + columnGap
		}
	}
	return total - columnGap
}

// fit makes the lines no longer than width, by the means that lose least first. Texts are cut off only as far as is
// needed, so a column that is left out makes room for the others.
func (l *layout) fit(width int) {
	for _, step := range []func(){l.shortenTimes, l.omitEmpty, l.shortenIDs} {
		if l.total() <= width {
			return
		}
		step()
	}
	for l.shortest() > width && l.omitNext() {
	}
	l.shortenTexts(width)
}

// timePattern is the form of the server's times; all are in UTC.
var timePattern = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(\.\d+)?(Z|\+00:00)$`)

// shortenTimes writes times without fractions of a second.
func (l *layout) shortenTimes() {
	for i := range l.columns {
		hasTime := false
		for _, row := range l.rows {
			if match := timePattern.FindStringSubmatch(row[i]); match != nil {
				row[i], hasTime = match[1]+" "+match[2], true
			}
		}
		if hasTime {
			l.measure(i)
		}
	}
}

// omitEmpty leaves out columns without any value.
func (l *layout) omitEmpty() {
	for i := 1; i < len(l.columns); i++ {
		if !slices.ContainsFunc(l.rows, func(row []string) bool { return row[i] != AbsentValue }) {
			l.widths[i] = 0
		}
	}
}

// shortenIDs cuts UUIDs off, except those of the first column, with which a row is named.
func (l *layout) shortenIDs() {
	for i := 1; i < len(l.columns); i++ {
		if l.widths[i] > shortIDWidth && !slices.ContainsFunc(l.rows, func(row []string) bool { return row[i] != AbsentValue && !isID(row[i]) }) {
			l.widths[i] = max(shortIDWidth, runewidth.StringWidth(l.columns[i].Name))
		}
	}
}

// shortest returns the length of a line whose texts are cut off as far as they may be.
func (l *layout) shortest() (total int) {
	total = l.total()
	for i := range l.columns {
		total -= max(0, l.widths[i]-l.minWidth(i))
	}
	return total
}

// shortenTexts cuts off columns of texts, the widest first, until the lines fit.
func (l *layout) shortenTexts(width int) {
	for l.total() > width {
		widest := -1
		for i := range l.columns {
			if l.widths[i] > l.minWidth(i) && (widest < 0 || l.widths[i] > l.widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		l.widths[widest]--
	}
}

// minWidth returns how far a column may be cut off. Numbers, times and ids mean something else if they are, so they stay
// whole; and of the first column, which names the row, more remains than of others.
func (l *layout) minWidth(column int) int {
	isWhole := l.columns[column].Right || slices.ContainsFunc(l.rows, func(row []string) bool {
		return isID(row[column]) || shortTimePattern.MatchString(row[column])
	})
	switch {
	case isWhole || l.widths[column] == 0:
		return l.widths[column]
	case column == 0:
		return minFirstWidth
	}
	return max(minTextWidth, runewidth.StringWidth(l.columns[column].Name))
}

var shortTimePattern = regexp.MustCompile(`^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$`)

// omitNext leaves out the column of the highest rank, never the first one; false if no other is left.
func (l *layout) omitNext() bool {
	next := 0
	for i := 1; i < len(l.columns); i++ {
		if l.widths[i] > 0 && (next == 0 || l.columns[i].Rank >= l.columns[next].Rank) {
			next = i
		}
	}
	l.isOmitted[next] = next != 0
	if next != 0 {
		l.widths[next] = 0
	}
	return next != 0
}
