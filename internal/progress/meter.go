package progress

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// interval is the shortest time between two writes of the line.
const interval = 500 * time.Millisecond

// Meter counts the work of a command and shows it.
type Meter struct {
	out    io.Writer
	prefix string           // text at the beginning of the line
	width  int              // columns of the terminal; longer lines are cut
	now    func() time.Time // time.Now, except in tests

	mu           sync.Mutex
	task         string    // mu guards this field and all fields below
	unit         string    // name of the counted units; empty if bytes are counted
	countedUnits uint64    // units counted so far; the line shows them
	doneWork     uint64    // amount of work done so far; the percentage is doneWork/totalWork
	totalWork    uint64    // amount of work in the task; 0 if not known
	began        time.Time // when the task began
	shownAt      time.Time // when the line was last written; zero if no line is shown
}

// New returns a meter that writes its line to the terminal out. The line begins with the prefix, and width is the number of
// columns of the terminal. If width is 0, out is not a terminal, and New returns nil.
func New(out io.Writer, prefix string, width int) *Meter {
	if width == 0 {
		return nil
	}
	return &Meter{out: out, prefix: prefix, width: width, now: time.Now}
}

// Begin begins a task and sets all counts to zero. unit is the name of the counted units, such as "rows"; if unit is empty,
// bytes are counted. total is the amount of work in the task. From total, the meter computes the percentage and the remaining
// time. If the amount is not known, total is 0.
func (m *Meter) Begin(task, unit string, total uint64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.task, m.unit, m.totalWork, m.countedUnits, m.doneWork, m.began = task, unit, total, 0, 0, m.now()
}

// Count counts n units that are finished. The amount of work done also increases by n.
func (m *Meter) Count(n uint64) { m.add(n, n) }

// CountUnits counts n units that are finished, but leaves the amount of work done as it is. Use CountUnits and CountWork if the
// amount of work is not measured in the counted units.
func (m *Meter) CountUnits(n uint64) { m.add(n, 0) }

// CountWork adds n to the amount of work done, but counts no units.
func (m *Meter) CountWork(n uint64) { m.add(0, n) }

func (m *Meter) add(units, work uint64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.countedUnits += units
	m.doneWork += work
	if now := m.now(); now.Sub(m.shownAt) >= interval && now.Sub(m.began) >= interval {
		m.shownAt = now
		m.write(m.line(now.Sub(m.began)))
	}
}

// End removes the line from the terminal.
func (m *Meter) End() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.shownAt.IsZero() {
		m.shownAt = time.Time{}
		m.write("")
	}
}

// write overwrites the line with the text. The escape sequence, which every terminal understands, erases the rest of the line.
func (m *Meter) write(text string) {
	if len(text) >= m.width {
		text = text[:m.width-1]
	}
	_, _ = fmt.Fprint(m.out, "\r"+text+"\x1b[K")
}

// line returns the text of the line. elapsed is the time since the task began.
func (m *Meter) line(elapsed time.Duration) string {
	parts := []string{m.amount()}
	if m.totalWork > 0 {
		parts = append(parts, fmt.Sprintf("%d%%", min(m.doneWork*100/m.totalWork, 100)))
	}
	parts = append(parts, m.rate(elapsed))
	if m.totalWork > 0 && m.doneWork > 0 && m.doneWork < m.totalWork {
		left := time.Duration(float64(elapsed) * float64(m.totalWork-m.doneWork) / float64(m.doneWork))
		parts = append(parts, formatDuration(left)+" left")
	}
	text := m.prefix
	if m.task != "" {
		text += m.task + ": "
	}
	return text + strings.Join(parts, ", ")
}

// amount returns the number of counted units as text.
func (m *Meter) amount() string {
	switch {
	case m.unit != "":
		return groupDigits(m.countedUnits) + " " + m.unit
	case m.totalWork > 0 && m.doneWork <= m.totalWork:
		return fmt.Sprintf("%.1f of %.1f MB", megabytes(m.countedUnits), megabytes(m.totalWork))
	}
	return fmt.Sprintf("%.1f MB", megabytes(m.countedUnits))
}

func (m *Meter) rate(elapsed time.Duration) string {
	perSecond := float64(m.countedUnits) / elapsed.Seconds()
	if m.unit == "" {
		return fmt.Sprintf("%.1f MB/s", perSecond/1e6)
	}
	return groupDigits(uint64(perSecond)) + "/s"
}

func megabytes(n uint64) float64 { return float64(n) / 1e6 }

// groupDigits formats a number with commas between groups of three digits.
func groupDigits(n uint64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// formatDuration formats a duration in seconds, in minutes and seconds, or in hours and minutes.
func formatDuration(d time.Duration) string {
	switch seconds := int64(d.Round(time.Second) / time.Second); {
	case seconds < 60:
		return fmt.Sprintf("%d s", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%d min %d s", seconds/60, seconds%60)
	default:
		return fmt.Sprintf("%d h %d min", seconds/3600, seconds%3600/60)
	}
}

// key is the context key under which With stores the meter.
type key struct{}

// With returns a copy of ctx that carries the meter.
func With(ctx context.Context, m *Meter) context.Context { return context.WithValue(ctx, key{}, m) }

// From returns the meter that With has stored in the context, or nil.
func From(ctx context.Context) *Meter {
	m, _ := ctx.Value(key{}).(*Meter)
	return m
}
