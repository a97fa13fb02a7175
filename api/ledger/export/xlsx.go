package export

import (
	"archive/zip"
	"compress/flate"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"mizan/ledger/money"
)

// sheetRows is the maximum number of rows in an XLSX sheet, including the heading.
const sheetRows = 1 << 20

// exactDigits is the number of digits that a spreadsheet keeps exactly.
const exactDigits = 15

// workbook writes an XLSX file (ECMA-376) from beginning to end without going back: the sheets
// first, and the parts that depend on the number of sheets last.
type workbook struct {
	zip    *zip.Writer
	limit  int // maximum number of rows in a sheet, including the heading
	sheet  io.Writer
	sheets int
	rows   int // rows of the current sheet so far
	column int // cells of the current row so far
	buf    []byte
}

func writeXLSX(out io.Writer, x *exporter) error { return writeSheets(out, x, sheetRows) }

// writeSheets writes the same file as writeXLSX, but with at most limit rows in a sheet.
func writeSheets(out io.Writer, x *exporter, limit int) error {
	w := &workbook{zip: zip.NewWriter(out), limit: limit}
	// The XML is so repetitive that it compresses well at any level. The lowest level takes only a
	// third of the time.
	w.zip.RegisterCompressor(zip.Deflate, func(out io.Writer) (io.WriteCloser, error) {
		return flate.NewWriter(out, flate.BestSpeed)
	})
	if err := w.begin(); err != nil {
		return err
	}
	if err := x.eachRow(w.row); err != nil {
		return err
	}
	return w.finish()
}

const sheetHead = xml.Header + `<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">` +
	`<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`

const sheetTail = `</sheetData></worksheet>`

// begin starts a sheet with its heading.
func (w *workbook) begin() error {
	w.sheets++
	w.rows = 1
	var err error
	if w.sheet, err = w.part(sheetPath(w.sheets)); err != nil {
		return err
	}
	b := w.beginRow(append(w.buf[:0], sheetHead...))
	for _, name := range columns {
		b = w.textCell(b, name)
	}
	w.buf = append(b, "</row>"...)
	_, err = w.sheet.Write(w.buf)
	return err
}

// epoch is the date of all parts of the workbook: the earliest date that a zip file can contain.
// With a fixed date, the same export always has the same bytes, no matter when it is made.
var epoch = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// part begins a new file in the workbook, which is a zip archive.
func (w *workbook) part(path string) (io.Writer, error) {
	return w.zip.CreateHeader(&zip.FileHeader{Name: path, Method: zip.Deflate, Modified: epoch})
}

// beginRow begins the sheet's next row. Rows and cells have references (their numbers) because
// Gnumeric skips those without, though ECMA-376 allows them.
func (w *workbook) beginRow(dst []byte) []byte {
	w.column = 0
	dst = append(dst, `<row r="`...)
	dst = strconv.AppendInt(dst, int64(w.rows), 10)
	return append(dst, `">`...)
}

// This constant does not compile if there are so many columns that the last one would need a name
// of two letters.
const _ = uint('Z' - 'A' + 1 - len(columns))

// beginCell begins the row's next cell. It leaves the tag open, so that the caller can add further
// attributes.
func (w *workbook) beginCell(dst []byte) []byte {
	dst = append(dst, `<c r="`...)
	dst = append(dst, 'A'+byte(w.column))
	dst = strconv.AppendInt(dst, int64(w.rows), 10)
	w.column++
	return append(dst, '"')
}

// emptyCell appends an empty cell.
func (w *workbook) emptyCell(dst []byte) []byte { return append(w.beginCell(dst), "/>"...) }

func sheetPath(n int) string { return "xl/worksheets/sheet" + strconv.Itoa(n) + ".xml" }

// row writes a posting. If the current sheet is full, row begins a new sheet.
func (w *workbook) row(r *row) error {
	if w.rows == w.limit {
		if _, err := io.WriteString(w.sheet, sheetTail); err != nil {
			return err
		}
		if err := w.begin(); err != nil {
			return err
		}
	}
	w.rows++
	buf := w.beginRow(w.buf[:0])
	buf = w.numberCell(buf, r.seq)
	buf = w.numberCell(buf, uint64(r.line))
	buf = w.textCell(buf, r.booked.Time().Format(instant))
	buf = w.textCell(buf, day(r.effective))
	for _, text := range [...]string{r.phase, r.event, r.kind, r.source.String()} {
		buf = w.textCell(buf, text)
	}
	buf = w.numberCell(buf, r.version)
	for _, seq := range [...]uint64{r.reverses, r.closes} {
		if seq == 0 {
			buf = w.emptyCell(buf)
		} else {
			buf = w.numberCell(buf, seq)
		}
	}
	for _, text := range [...]string{r.account, r.side, r.currency, r.network, r.env} {
		buf = w.textCell(buf, text)
	}
	if r.hasScale {
		buf = w.numberCell(buf, uint64(r.scale))
	} else {
		buf = w.emptyCell(buf)
	}
	buf = w.amountCell(buf, r.amount, 0)
	buf = w.amountCell(buf, r.amount, r.scale)
	buf = w.textCell(buf, r.author)
	buf = w.textCell(buf, r.authorID)
	w.buf = append(buf, "</row>"...)
	_, err := w.sheet.Write(w.buf)
	return err
}

func (w *workbook) numberCell(dst []byte, n uint64) []byte {
	dst = append(w.beginCell(dst), "><v>"...)
	return append(strconv.AppendUint(dst, n, 10), "</v></c>"...)
}

// amountCell appends a number, or text if a spreadsheet would round the number.
func (w *workbook) amountCell(dst []byte, a money.Amount, scale int) []byte {
	var digits [2 * money.MaxDigits]byte
	text := decimal(digits[:0], a, scale)
	integer, part, _ := strings.Cut(string(text), ".")
	if len(integer) > exactDigits || len(strings.Trim(integer+part, "0")) > exactDigits {
		return w.textCell(dst, string(text))
	}
	return append(append(append(w.beginCell(dst), "><v>"...), text...), "</v></c>"...)
}

// textCell appends text, without the characters that XML can't contain.
func (w *workbook) textCell(dst []byte, s string) []byte {
	if s == "" {
		return w.emptyCell(dst)
	}
	dst = append(w.beginCell(dst), ` t="inlineStr"><is><t xml:space="preserve">`...)
	if strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' || r > '~' || r == '<' || r == '>' || r == '&' || r == '"' || r == '\''
	}) {
		var b strings.Builder
		_ = xml.EscapeText(&b, []byte(s)) // writing to a strings.Builder never fails
		s = b.String()
	}
	return append(append(dst, s...), `</t></is></c>`...)
}

// finish ends the last sheet and writes the parts that list the sheets.
func (w *workbook) finish() error {
	if _, err := io.WriteString(w.sheet, sheetTail); err != nil {
		return err
	}
	var sheets, relations, types strings.Builder
	for n := 1; n <= w.sheets; n++ {
		fmt.Fprintf(&sheets, `<sheet name="Entries %d" sheetId="%d" r:id="rId%d"/>`, n, n, n)
		fmt.Fprintf(&relations, `<Relationship Id="rId%d" Type="%s/worksheet" Target="worksheets/sheet%d.xml"/>`, n, officeRelations, n)
		fmt.Fprintf(&types, `<Override PartName="/%s" ContentType="%s.worksheet+xml"/>`, sheetPath(n), spreadsheetType)
	}
	for _, part := range [...]struct{ path, content string }{
		{"xl/workbook.xml", `<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="` + officeRelations + `"><sheets>` + sheets.String() + `</sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="` + packageRelations + `">` + relations.String() + `</Relationships>`},
		{"_rels/.rels", `<Relationships xmlns="` + packageRelations + `"><Relationship Id="rId1" Type="` + officeRelations + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Override PartName="/xl/workbook.xml" ContentType="` + spreadsheetType + `.sheet.main+xml"/>` + types.String() + `</Types>`},
	} {
		file, err := w.part(part.path)
		if err != nil {
			return err
		}
		if _, err := io.WriteString(file, xml.Header+part.content); err != nil {
			return err
		}
	}
	return w.zip.Close()
}

const (
	officeRelations  = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	packageRelations = "http://schemas.openxmlformats.org/package/2006/relationships"
	spreadsheetType  = "application/vnd.openxmlformats-officedocument.spreadsheetml"
)
