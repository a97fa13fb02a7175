package progress

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// interval is how often the line is overwritten.
const interval = 500 * time.Millisecond

// Meter counts the work of a command and shows it.
type Meter struct {
	out    io.Writer
	prefix string           // begins the line
	width  int              // the line is no longer
	now    func() time.Time // the real time, but in tests

	mu      sync.Mutex
	task    string    // guarded by mu, as everything below
	unit    string    // what is counted; empty: bytes
	counted uint64    // units
	done    uint64    // work
	total   uint64    // work; 0: not known
	began   time.Time // when the task began
	shown   time.Time // when the line was last written; zero: it is not shown
}

// New returns a meter whose line begins with prefix, on a terminal of this width; nil if the width is 0, which means that out is no
// terminal.
func New(out io.Writer, prefix string, width int) *Meter {
	if width == 0 {
		return nil
	}
	return &Meter{out: out, prefix: prefix, width: width, now: time.Now}
}

// Begin begins a task. What is counted are units, such as "rows"; an empty unit means bytes. The total is that of the work; 0: it
// is not known.
func (m *Meter) Begin(task, unit string, total uint64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.task, m.unit, m.total, m.counted, m.done, m.began = task, unit, total, 0, 0, m.now()
}

// Count adds units that are also the work.
func (m *Meter) Count(n uint64) { m.add(n, n) }

// CountUnits adds units that are no measure of the work.
func (m *Meter) CountUnits(n uint64) { m.add(n, 0) }

// CountWork adds work without units.
func (m *Meter) CountWork(n uint64) { m.add(0, n) }

func (m *Meter) add(units, work uint64) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counted += units
	m.done += work
	if now := m.now(); now.Sub(m.shown) >= interval && now.Sub(m.began) >= interval {
		m.shown = now
		m.write(m.line(now.Sub(m.began)))
	}
}

// End removes the line.
func (m *Meter) End() {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.shown.IsZero() {
		m.shown = time.Time{}
		m.write("")
	}
}

// write overwrites the line. Erasing to its end is understood by every terminal.
func (m *Meter) write(text string) {
	if len(text) >= m.width {
		text = text[:m.width-1]
	}
	_, _ = fmt.Fprint(m.out, "\r"+text+"\x1b[K")
}

// line returns what is shown after the elapsed time.
func (m *Meter) line(elapsed time.Duration) string {
	parts := []string{m.amount()}
	if m.total > 0 {
		parts = append(parts, fmt.Sprintf("%d%%", min(m.done*100/m.total, 100)))
	}
	parts = append(parts, m.rate(elapsed))
	if m.total > 0 && m.done > 0 && m.done < m.total {
		left := time.Duration(float64(elapsed) * float64(m.total-m.done) / float64(m.done))
		parts = append(parts, formatDuration(left)+" left")
	}
	text := m.prefix
	if m.task != "" {
		text += m.task + ": "
	}
	return text + strings.Join(parts, ", ")
}

// amount returns how much was counted.
func (m *Meter) amount() string {
	switch {
	case m.unit != "":
		return groupDigits(m.counted) + " " + m.unit
	case m.total > 0 && m.done <= m.total:
		return fmt.Sprintf("%.1f of %.1f MB", megabytes(m.counted), megabytes(m.total))
	}
	return fmt.Sprintf("%.1f MB", megabytes(m.counted))
}

func (m *Meter) rate(elapsed time.Duration) string {
	perSecond := float64(m.counted) / elapsed.Seconds()
	if m.unit == "" {
		return fmt.Sprintf("%.1f MB/s", perSecond/1e6)
	}
	return groupDigits(uint64(perSecond)) + "/s"
}

func megabytes(n uint64) float64 { return float64(n) / 1e6 }

// groupDigits writes a number with commas between thousands.
func groupDigits(n uint64) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// formatDuration writes a length of time in its two largest units.
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

// key is the key of the meter in a context.
type key struct{}

// With returns a context with the meter.
func With(ctx context.Context, m *Meter) context.Context { return context.WithValue(ctx, key{}, m) }

// From returns the meter in a context; nil if there is none.
func From(ctx context.Context) *Meter {
	m, _ := ctx.Value(key{}).(*Meter)
	return m
}
