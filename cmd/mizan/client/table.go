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
	Right bool   // aligned to the right, like numbers

	// Rank determines the order in which columns are left out if a table is too wide: the highest rank first and, among columns
	// of equal rank, the last column first. The first column is never left out.
	Rank int
}

// Column widths in a table that is shortened to fit a terminal.
const (
	minTextWidth  = 10 // minimum width of a text column
	minFirstWidth = 28 // minimum width of the first column if it contains texts
	shortIDWidth  = 9  // width of a UUID column: eight digits and an ellipsis
	columnGap     = 2  // spaces between columns
)

// tableBlock is the number of rows that a table keeps in memory to align its columns.
const tableBlock = 10_000

// Table writes rows with aligned columns. If the terminal is too narrow, Table shortens times, ids and texts, and leaves out
// columns.
type Table struct {
	out      *bufio.Writer
	width    int // width of the terminal; 0 if the output is not a terminal
	columns  []Column
	rows     [][]string
	hasTitle bool     // the heading has been written
	omitted  []string // names of columns that were left out
}

// NewTable returns a table for a terminal of this width. If the output is not a terminal, width is 0 and lines may have any
// length.
func NewTable(out io.Writer, width int, columns []Column) *Table {
	return &Table{out: bufio.NewWriter(out), width: width, columns: columns}
}

// Add adds a row, with a cell for each column. If a write fails, Flush returns the error.
func (t *Table) Add(cells ...string) {
	t.rows = append(t.rows, cells)
	if len(t.rows) == tableBlock {
		t.writeRows()
	}
}

// Flush writes the rows that are still in memory. It returns the table's first write error, if any.
func (t *Table) Flush() error {
	t.writeRows()
	return t.out.Flush()
}

// Omitted returns the names of the columns that were left out although they have values.
func (t *Table) Omitted() []string { return t.omitted }

// writeRows writes the rows in memory. The first call also writes the heading.
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

// writeRow writes one line. The last cell of a line is not padded with spaces.
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

// layout holds the column widths for the rows in memory. A column of width 0 is not shown.
type layout struct {
	columns   []Column
	rows      [][]string
	widths    []int
	isOmitted []bool // the column is left out although it has values
}

func (t *Table) newLayout() *layout {
	l := &layout{columns: t.columns, rows: t.rows, widths: make([]int, len(t.columns)), isOmitted: make([]bool, len(t.columns))}
	for i := range t.columns {
		l.measure(i)
	}
	return l
}

// measure sets a column's width to the width of its widest cell, including the heading.
func (l *layout) measure(column int) {
	l.widths[column] = max(1, runewidth.StringWidth(l.columns[column].Name))
	for _, row := range l.rows {
		l.widths[column] = max(l.widths[column], runewidth.StringWidth(row[column]))
	}
}

// total returns the length of a line in characters.
func (l *layout) total() (total int) {
	for _, width := range l.widths {
		if width > 0 {
			total += width + columnGap
		}
	}
	return total - columnGap
}

// fit shortens the lines to width if possible. It begins with the steps that lose the least information. Texts are cut last,
// and only as much as is still needed after columns were left out.
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

// timePattern matches the form in which the server writes times. All times are in UTC.
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

// omitEmpty leaves out columns that have no value in any row.
func (l *layout) omitEmpty() {
	for i := 1; i < len(l.columns); i++ {
		if !slices.ContainsFunc(l.rows, func(row []string) bool { return row[i] != AbsentValue }) {
			l.widths[i] = 0
		}
	}
}

// shortenIDs cuts off UUIDs. Ids in the first column stay whole, because users pass them to other commands.
func (l *layout) shortenIDs() {
	for i := 1; i < len(l.columns); i++ {
		if l.widths[i] > shortIDWidth && !slices.ContainsFunc(l.rows, func(row []string) bool { return row[i] != AbsentValue && !isID(row[i]) }) {
			l.widths[i] = max(shortIDWidth, runewidth.StringWidth(l.columns[i].Name))
		}
	}
}

// shortest returns the length of a line whose texts are all cut to the minimum.
func (l *layout) shortest() (total int) {
	total = l.total()
	for i := range l.columns {
		total -= max(0, l.widths[i]-l.minWidth(i))
	}
	return total
}

// shortenTexts cuts texts until the lines fit. It always cuts the column that is the widest at that moment.
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

// minWidth returns the minimum width to which shortenTexts may cut a column. Numbers, times and ids stay whole, because a part
// of a number or time would be misread. The first column identifies the row, so its minimum is larger than the minimum of other
// text columns.
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

// omitNext leaves out the column with the highest rank, but never the first column. It returns false if no column can be left
// out.
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
