package export_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mizan/api/ledger/export"
	"mizan/ledger"
)

// parts returns the files in a workbook.
func parts(t *testing.T, content []byte) []*zip.File {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	must(t, err)
	return r.File
}

// Some programs skip rows and cells that have no reference.
func TestXLSXRowsAndCellsHaveTheirReferences(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	must(t, export.WriteSheets(&out, everyEntryKind().book(nil), 9))
	sheets := 0
	for _, part := range parts(t, out.Bytes()) {
		if ok, _ := filepath.Match("xl/worksheets/*.xml", part.Name); !ok {
			continue
		}
		sheets++
		var sheet struct {
			Rows []struct {
				Ref   string `xml:"r,attr"`
				Cells []struct {
					Ref string `xml:"r,attr"`
				} `xml:"c"`
			} `xml:"sheetData>row"`
		}
		f, err := part.Open()
		must(t, err)
		must(t, xml.NewDecoder(f).Decode(&sheet))
		for i, row := range sheet.Rows {
			if row.Ref != fmt.Sprint(i+1) || len(row.Cells) != len(heading) {
				t.Fatalf("%s: row %d is %q of %d cells", part.Name, i+1, row.Ref, len(row.Cells))
			}
			for k, cell := range row.Cells {
				if want := fmt.Sprintf("%c%d", "ABCDEFGHIJKLMNOPQRSTU"[k], i+1); cell.Ref != want {
					t.Errorf("%s: cell %s is %q", part.Name, want, cell.Ref)
				}
			}
		}
	}
	if sheets != 3 {
		t.Errorf("%d sheets", sheets)
	}
}

// The date of a part is valid, and the same in every workbook.
func TestXLSXPartsHaveALegalDate(t *testing.T) {
	t.Parallel()
	content := written(t, export.XLSX, everyEntryKind().book(nil))
	if day := binary.LittleEndian.Uint16(content[12:]); day != 1<<5|1 { // the date of the first part (APPNOTE, 4.3.7)
		t.Errorf("the first part has the date %#x", day)
	}
	for _, part := range parts(t, content) {
		if !part.Modified.Equal(time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)) {
			t.Errorf("%s is of %v", part.Name, part.Modified)
		}
	}
}

// The values that Gnumeric reads from XLSX equal those in CSV.
func TestGnumericReadsXLSX(t *testing.T) {
	t.Parallel()
	requireProgram(t, "ssconvert")
	var j journal
	j.books("=1+1", ledger.Posted, usd, "Dr A:bank 1000", "Cr I:fees 1000")
	j.books("settle", ledger.Posted, bsc, "Dr A:bank 123456789012345678901234567890", "Cr I:fees 123456789012345678901234567890")
	book := writeFile(t, export.XLSX, j.book(nil))
	out := filepath.Join(t.TempDir(), "out.csv")
	run(t, "ssconvert", book, out)
	content, err := os.ReadFile(out)
	must(t, err)
	got, err := csv.NewReader(bytes.NewReader(content)).ReadAll()
	must(t, err)
	want, err := csv.NewReader(bytes.NewReader(written(t, export.CSV, j.book(nil)))).ReadAll()
	must(t, err)
	for _, row := range want {
		if row[18] == "10.00" {
			row[18] = "10" // Gnumeric does not write zeros at the end of a fraction
		}
	}
	if !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("Gnumeric finds %q, want %q", got, want)
	}
}
