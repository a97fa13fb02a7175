package export_test

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/xuri/excelize/v2"

	"mizan/api/ledger/export"
	"mizan/ledger"
	"mizan/ledger/money"
)

var heading = []string{
	"seq", "line", "booked_at", "effective_date", "phase", "event", "source_kind", "source", "version", "reverses", "closes",
	"account", "side", "currency", "network", "env", "scale", "amount_minor", "amount", "author", "author_id",
}

// first and capture are two rows of everyEntryKind as they are in every table.
var (
	first = []string{
		"1", "2", "2026-09-03T10:15:30.123457Z", "2024-10-03", "posted", "settle", "transaction", "7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01", "1", "", "",
		"L:partner:1:available", "credit", "USD", "", "prod", "2", "980", "9.80", "api_key", "author-9",
	}
	capture = []string{
		"3", "1", "2026-09-03T10:15:30.123459Z", "2024-10-03", "capture", "commit", "transaction", "7c2b8a0e-2d53-4b1f-9d2c-0b5a6f1e3c01", "3", "", "2",
		"L:partner:1:available", "debit", "USDT", "tron", "prod", "6", "3000000", "3.000000", "api_key", "author-9",
	}
)

func TestCSVHasOneRowPerPosting(t *testing.T) {
	t.Parallel()
	rows, err := csv.NewReader(bytes.NewReader(written(t, export.CSV, everyEntryKind().book(nil)))).ReadAll()
	must(t, err)
	if len(rows) != 1+24 || !slices.Equal(rows[0], heading) || !slices.Equal(rows[2], first) || !slices.Equal(rows[1+6], capture) {
		t.Errorf("%d rows: %q", len(rows), rows)
	}
}

// parquetRow is a row as a Parquet reader sees it.
type parquetRow struct {
	Seq         int64     `parquet:"seq"`
	Line        int32     `parquet:"line"`
	BookedAt    time.Time `parquet:"booked_at,timestamp(microsecond)"`
	Effective   int32     `parquet:"effective_date,date"`
	Phase       string    `parquet:"phase"`
	Closes      *int64    `parquet:"closes,optional"`
	Reverses    *int64    `parquet:"reverses,optional"`
	Account     string    `parquet:"account"`
	Network     *string   `parquet:"network,optional"`
	AmountMinor string    `parquet:"amount_minor"`
	Amount      string    `parquet:"amount"`
}

func TestParquetIsReadBack(t *testing.T) {
	t.Parallel()
	content := written(t, export.Parquet, everyEntryKind().book(nil))
	file, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	must(t, err)
	var names []string
	for _, c := range file.Root().Columns() {
		names = append(names, c.Name())
	}
	if !slices.Equal(names, heading) {
		t.Errorf("its columns are %q", names)
	}
	rows, err := parquet.Read[parquetRow](bytes.NewReader(content), int64(len(content)))
	must(t, err)
	if len(rows) != 24 {
		t.Fatalf("%d rows", len(rows))
	}
	c := rows[slices.IndexFunc(rows, func(p parquetRow) bool { return p.Phase == "capture" })]
	if c.Seq != 3 || c.Line != 1 || c.Closes == nil || *c.Closes != 2 || c.Reverses != nil || c.Network == nil || *c.Network != "tron" ||
		c.Account != "L:partner:1:available" || c.AmountMinor != "3000000" || c.Amount != "3.000000" ||
		c.BookedAt.UTC().Format(time.RFC3339Nano) != "2026-09-03T10:15:30.123459Z" || time.Unix(int64(c.Effective)*86400, 0).UTC().Format(time.DateOnly) != "2024-10-03" {
		t.Errorf("the capture is %+v", c)
	}
	if rows[0].Network != nil || rows[0].Closes != nil {
		t.Errorf("the first row has a network or closes an entry: %+v", rows[0])
	}
}

// A row group is written when it is full, so that memory is bounded.
func TestParquetRowGroupsAreBounded(t *testing.T) {
	t.Parallel()
	var j journal
	for range 40_000 {
		j.books("settle", ledger.Posted, usd, "Dr A:bank 1", "Cr I:fees 1")
	}
	content := written(t, export.Parquet, j.book(nil))
	file, err := parquet.OpenFile(bytes.NewReader(content), int64(len(content)))
	must(t, err)
	var rows []int64
	for _, g := range file.RowGroups() {
		rows = append(rows, g.NumRows())
	}
	if !slices.Equal(rows, []int64{65_536, 14_464}) {
		t.Errorf("row groups of %d rows", rows)
	}
}

func sheets(t *testing.T, content []byte) (names []string, rows map[string][][]string, f *excelize.File) {
	t.Helper()
	f, err := excelize.OpenReader(bytes.NewReader(content))
	must(t, err)
	t.Cleanup(func() { _ = f.Close() })
	rows = map[string][][]string{}
	names = f.GetSheetList()
	for _, name := range names {
		rows[name], err = f.GetRows(name, excelize.Options{RawCellValue: true})
		must(t, err)
	}
	return names, rows, f
}

func TestXLSXIsReadBack(t *testing.T) {
	t.Parallel()
	names, rows, f := sheets(t, written(t, export.XLSX, everyEntryKind().book(nil)))
	if !slices.Equal(names, []string{"Entries 1"}) {
		t.Fatalf("the sheets are %q", names)
	}
	got := rows["Entries 1"]
	if len(got) != 1+24 || !slices.Equal(got[0], heading) || !slices.Equal(got[2], first) || !slices.Equal(got[1+6], capture) {
		t.Errorf("%d rows: %q", len(got), got)
	}
	for cell, want := range map[string]excelize.CellType{"A3": excelize.CellTypeUnset, "S3": excelize.CellTypeUnset, "L3": excelize.CellTypeInlineString} {
		if kind, err := f.GetCellType("Entries 1", cell); err != nil || kind != want {
			t.Errorf("%s is of type %v, %v", cell, kind, err)
		}
	}
}

// A sheet has at most 1,048,576 rows, including its heading. Then the next sheet begins.
func TestXLSXContinuesInANewSheet(t *testing.T) {
	t.Parallel()
	if export.SheetRows != 1_048_576 {
		t.Errorf("a sheet has %d rows", export.SheetRows)
	}
	for postings, want := range map[int][]int{6: {7}, 8: {9}, 10: {9, 3}, 18: {9, 9, 3}} {
		var j journal
		for range postings / 2 {
			j.books("settle", ledger.Posted, usd, "Dr A:bank 1", "Cr I:fees 1")
		}
		var out bytes.Buffer
		must(t, export.WriteSheets(&out, j.book(nil), 9))
		names, rows, _ := sheets(t, out.Bytes())
		var got []int
		for i, name := range names {
			if name != fmt.Sprintf("Entries %d", i+1) || !slices.Equal(rows[name][0], heading) {
				t.Errorf("sheet %d is %s with heading %q", i+1, name, rows[name][0])
			}
			got = append(got, len(rows[name]))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d postings are in sheets of %d rows, want %d", postings, got, want)
		}
	}
}

// A spreadsheet's number has 15 digits. An amount with more digits is written as text, so that no digit is
// lost.
func TestXLSXAmountsAreExact(t *testing.T) {
	t.Parallel()
	var j journal
	amounts := []string{"123456789012345", "1234567890123456", "100000000000000000000", "5"}
	for _, a := range amounts {
		j.books("settle", ledger.Posted, usd, "Dr A:bank "+a, "Cr I:fees "+a)
	}
	_, rows, f := sheets(t, written(t, export.XLSX, j.book(nil)))
	for i, want := range []struct {
		text  bool
		shown string
	}{{false, "1234567890123.45"}, {true, "12345678901234.56"}, {true, "1000000000000000000.00"}, {false, "0.05"}} {
		kind, err := f.GetCellType("Entries 1", fmt.Sprintf("S%d", 2*i+2))
		must(t, err)
		if got := rows["Entries 1"][2*i+1][18]; got != want.shown || (kind == excelize.CellTypeInlineString) != want.text {
			t.Errorf("%s is %s of type %v, want %s", amounts[i], got, kind, want.shown)
		}
	}
}

// Text that begins like a formula is not a formula in a spreadsheet.
func TestTextThatBeginsLikeAFormulaIsQuoted(t *testing.T) {
	t.Parallel()
	var j journal
	names := []string{"=HYPERLINK(1)", "+1", "-1", "@SUM(1)", "\tx", "\rx", "a=1", "<&>\"'"}
	for _, name := range names {
		j.books(name, ledger.Posted, usd, "Dr A:bank 1", "Cr I:fees 1")
	}
	rows, err := csv.NewReader(bytes.NewReader(written(t, export.CSV, j.book(nil)))).ReadAll()
	must(t, err)
	_, sheet, _ := sheets(t, written(t, export.XLSX, j.book(nil)))
	for i, name := range names {
		want := name
		if strings.ContainsAny(name[:1], "=+-@\t\r") {
			want = "'" + name
		}
		if got := rows[2*i+1][5]; got != want {
			t.Errorf("CSV has %q for %q", got, name)
		}
		if got := sheet["Entries 1"][2*i+1][5]; got != want {
			t.Errorf("XLSX has %q for %q", got, name)
		}
		if rows[2*i+1][18] != "0.01" || sheet["Entries 1"][2*i+1][18] != "0.01" {
			t.Errorf("the amounts beside %q are not as they were", name)
		}
	}
}

// The largest possible amount is complete everywhere.
func TestLargestAmountIsComplete(t *testing.T) {
	t.Parallel()
	var j journal
	j.books("settle", ledger.Posted, bsc, "Dr A:bank "+money.Max.String(), "Cr I:fees "+money.Max.String())
	digits := money.Max.String()
	want := digits[:len(digits)-18] + "." + digits[len(digits)-18:]
	for _, f := range []export.Format{export.HLedger, export.Beancount, export.CSV} {
		if text := string(written(t, f, j.book(nil))); !strings.Contains(text, want) {
			t.Errorf("%v has no %s", f, want)
		}
	}
	content := written(t, export.Parquet, j.book(nil))
	rows, err := parquet.Read[parquetRow](bytes.NewReader(content), int64(len(content)))
	must(t, err)
	if rows[0].Amount != want || rows[0].AmountMinor != digits {
		t.Errorf("Parquet has %+v", rows[0])
	}
	_, sheet, _ := sheets(t, written(t, export.XLSX, j.book(nil)))
	if got := sheet["Entries 1"][1]; got[18] != want || got[17] != digits {
		t.Errorf("XLSX has %q", got)
	}
}
