package export_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"mizan/api/ledger/export"
	"mizan/ledger"
)

func TestFormatsAreKnownByTheirNames(t *testing.T) {
	t.Parallel()
	if got := export.Names(); !slices.Equal(got, []string{"hledger", "beancount", "csv", "parquet", "xlsx"}) {
		t.Errorf("the formats are %q", got)
	}
	for _, name := range export.Names() {
		if f, known := export.ParseFormat(name); !known || f.String() != name || f.MediaType() == "" || f.Extension() == "" {
			t.Errorf("%s is %v, %v", name, f, known)
		}
	}
	for _, name := range []string{"", "CSV", "ledger", "csv "} {
		if _, known := export.ParseFormat(name); known {
			t.Errorf("%q is a format", name)
		}
	}
	if _, err := export.Write(io.Discard, 0, everyEntryKind().book(nil)); err == nil {
		t.Error("the zero format is written")
	}
}

func TestCountEqualsTheWrittenRows(t *testing.T) {
	t.Parallel()
	for _, name := range export.Names() {
		f, _ := export.ParseFormat(name)
		count, err := export.Write(io.Discard, f, everyEntryKind().book(nil))
		must(t, err)
		if count != (export.Count{Entries: 10, Postings: 24}) { // without entries of the test environment and events without an entry
			t.Errorf("%s: %+v", name, count)
		}
	}
}

// A prefix selects whole entries, and the captures or voids of selected holds.
func TestPrefixSelectsWholeEntries(t *testing.T) {
	t.Parallel()
	var j journal
	j.books("hold", ledger.Pending, usd, "Dr A:provider:x 5", "Cr L:partner:1:available 5")
	j.books("commit", ledger.Capture, usd, "Dr A:provider:x 5", "Cr A:partner:1:receivable 5").Closes = 1
	j.books("settle", ledger.Posted, usd, "Dr A:provider:x 9", "Cr L:partner:2:available 9")
	for prefix, want := range map[string]uint64{"": 3, "L:partner:1:": 2, "L:partner:2": 1, "A:": 3, "L:partner:3": 0, "nobody": 0} {
		b := j.book(nil)
		b.Prefix = prefix
		count, err := export.Write(io.Discard, export.CSV, b)
		must(t, err)
		if count.Entries != want {
			t.Errorf("%q: %d entries, want %d", prefix, count.Entries, want)
		}
	}
}

func TestUnknownPrefixIsAnEmptyExport(t *testing.T) {
	t.Parallel()
	for _, f := range []export.Format{export.HLedger, export.Beancount} {
		b := everyEntryKind().book(nil)
		b.Prefix = "L:nobody"
		text := string(written(t, f, b))
		if strings.Contains(text, "partner") || strings.Contains(text, "Partner") || !strings.Contains(text, "; end of the export: 0 entries\n") {
			t.Errorf("%v:\n%s", f, text)
		}
	}
}

// Holds are kept in memory up to a bound. Older ones are looked up in the Book.
func TestOldHoldIsLookedUp(t *testing.T) {
	t.Parallel()
	for _, openHolds := range []int{export.MaxHolds - 1, export.MaxHolds} {
		var j journal
		for range openHolds + 1 {
			j.books("hold", ledger.Pending, usd, "Dr A:provider:x 5", "Cr L:partner:1:available 5")
		}
		j.books("commit", ledger.Capture, usd, "Dr A:provider:x 5", "Cr L:partner:1:available 5").Closes = 1
		looked := 0
		text := string(written(t, export.HLedger, j.book(&looked)))
		if want := openHolds + 1 - export.MaxHolds; looked != want {
			t.Errorf("%d holds later: looked up %d times, want %d", openHolds, looked, want)
		}
		if !strings.HasSuffix(text, "    [pending:A:provider:x]  -0.05 \"USD\"\n    [pending:L:partner:1:available]  0.05 \"USD\"\n"+fmt.Sprintf("\n; end of the export: %d entries\n", openHolds+2)) {
			t.Errorf("the capture releases nothing:\n%s", text[len(text)-500:])
		}
	}
}

func TestFailedExportHasNoEndMarker(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, name := range export.Names() {
		f, _ := export.ParseFormat(name)
		b := everyEntryKind().book(nil)
		entries := b.Entries
		b.Entries = func(yield func(*ledger.Event, error) bool) {
			for e := range entries {
				if e.Seq == 4 {
					yield(nil, broken)
					return
				}
				if !yield(e, nil) {
					return
				}
			}
		}
		var out strings.Builder
		if _, err := export.Write(&out, f, b); !errors.Is(err, broken) || strings.Contains(out.String(), "end of the export") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := export.Write(failingWriter{}, f, everyEntryKind().book(nil)); !errors.Is(err, errFull) {
			t.Errorf("%s to a full disk: %v", name, err)
		}
	}
}

var errFull = errors.New("full")

// failingWriter is a writer that always fails.
type failingWriter struct{}

// Write implements io.Writer.
func (failingWriter) Write([]byte) (int, error) { return 0, errFull }
