package progress

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
)

// newMeter returns a meter, the buffer into which it writes, and its clock.
func newMeter(width int) (m *Meter, out *bytes.Buffer, now *time.Time) {
	out, now = new(bytes.Buffer), new(time.Time)
	*now = time.Unix(1e9, 0)
	m = New(out, "mizan: x: ", width)
	m.now = func() time.Time { return *now }
	return m, out, now
}

// lines returns all lines that the meter has written, in order; each one overwrote the previous one.
func lines(out *bytes.Buffer) []string {
	text := strings.ReplaceAll(out.String(), "\x1b[K", "")
	return strings.Split(text, "\r")[1:]
}

func TestLineTellsAmountRateAndWhatIsLeft(t *testing.T) {
	m, out, now := newMeter(80)
	m.Begin("", "", 400e6)
	*now = now.Add(2 * time.Second)
	m.Count(100e6)
	m.Begin("check", "rows", 1000)
	*now = now.Add(3 * time.Minute)
	m.CountUnits(540_000)
	m.CountWork(250)
	*now = now.Add(time.Second)
	m.Count(0)
	m.Begin("", "", 0)
	*now = now.Add(time.Second)
	m.Count(1_500_000)
	m.End()
	want := []string{
		"mizan: x: 100.0 of 400.0 MB, 25%, 50.0 MB/s, 6 s left",
		"mizan: x: check: 540,000 rows, 0%, 3,000/s",
		"mizan: x: check: 540,000 rows, 25%, 2,983/s, 9 min 3 s left",
		"mizan: x: 1.5 MB, 1.5 MB/s",
		"",
	}
	if got := lines(out); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("shown:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestLineIsWrittenTwiceASecondAtMost(t *testing.T) {
	m, out, now := newMeter(80)
	m.Begin("", "", 0)
	for range 1000 {
		m.Count(1)
		*now = now.Add(time.Millisecond)
	}
	m.End()
	if got := lines(out); len(got) > 3 {
		t.Errorf("%d lines in a second", len(got))
	}
}

func TestLineFitsTheTerminal(t *testing.T) {
	m, out, now := newMeter(20)
	m.Begin("", "", 400e6)
	*now = now.Add(time.Second)
	m.Count(1e6)
	if got := lines(out)[0]; len(got) != 19 {
		t.Errorf("%q on a terminal of 20 columns", got)
	}
}

func TestNothingIsShownWithoutATerminal(t *testing.T) {
	out := new(bytes.Buffer)
	m := New(out, "", 0)
	if m != nil || From(context.Background()) != nil {
		t.Error("there is a meter")
	}
	m.Begin("", "", 1)
	m.Count(1)
	m.End()
	if out.Len() > 0 || From(With(context.Background(), m)) != nil {
		t.Errorf("shown: %q", out)
	}
}
