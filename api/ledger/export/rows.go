package export

import (
	"encoding/csv"
	"io"
	"strconv"

	"mizan/ledger"
	"mizan/ledger/money"
)

// columns are the columns of every table. A row is a posting.
var columns = [...]string{
	"seq", "line", "booked_at", "effective_date", "phase", "event", "source_kind", "source", "version", "reverses", "closes",
	"account", "side", "currency", "network", "env", "scale", "amount_minor", "amount", "author", "author_id",
}

// row is a posting with the fields of its entry. Its texts are safe in a spreadsheet.
type row struct {
	seq, version, reverses, closes        uint64
	line                                  int // number of the posting in its entry, from 1
	booked                                ledger.Micros
	effective                             ledger.Date
	phase, event, kind, author, authorID  string
	source                                ledger.ID
	account, side, currency, network, env string
	scale                                 int
	hasScale                              bool // if false, the scale is unknown, and the amount is in minor units
	amount                                money.Amount
}

// eachRow calls fn with every posting of the export. The row is valid only until fn returns.
func (x *exporter) eachRow(fn func(*row) error) error {
	known := newCommodities(func(a money.Asset) (string, error) { return a.String(), nil })
	var r row
	return x.eachEntry(func(e *ledger.Event) error {
		author, authorID, err := x.authorOf(e)
		if err != nil {
			return err
		}
		r = row{
			seq: e.Seq, version: e.Version, reverses: e.Entry.Reverses, closes: e.Entry.Closes, booked: e.Booked, effective: e.Entry.Effective,
			phase: e.Entry.Phase.String(), event: escapeFormula(e.Name), kind: escapeFormula(kindOf(e.Source.Kind)), source: e.Source.ID,
			author: author, authorID: authorID,
		}
		for i := range e.Entry.Postings {
			p := &e.Entry.Postings[i]
			c, err := known.lookup(p.Asset)
			if err != nil {
				return err
			}
			r.line, r.account, r.side = i+1, escapeFormula(string(p.Account)), p.Side.String()
			r.currency, r.network, r.env = escapeFormula(string(p.Asset.Currency)), escapeFormula(string(p.Asset.Network)), p.Asset.Env.String()
			r.scale, r.hasScale, r.amount = c.scale, c.hasScale, p.Amount
			if err := fn(&r); err != nil {
				return err
			}
		}
		return nil
	})
}

// escapeFormula returns s with an apostrophe before it if s begins like a formula, so that no spreadsheet computes it.
func escapeFormula(s string) string {
	if s == "" {
		return s
	}
	switch s[0] {
	case '=', '+', '-', '@', '\t', '\r':
		return "'" + s
	}
	return s
}

// writeCSV writes CSV with a heading. It follows RFC 4180, except that lines end with LF, because with CRLF encoding/csv would
// drop a CR inside a cell. Absent values are empty.
func writeCSV(out io.Writer, x *exporter) error {
	w := csv.NewWriter(out)
	if err := w.Write(columns[:]); err != nil {
		return err
	}
	var buf []byte
	cells := make([]string, len(columns))
	err := x.eachRow(func(r *row) error {
		buf = decimal(r.booked.Time().AppendFormat(buf[:0], instant), r.amount, r.scale)
		at, amount := string(buf[:len(instant)]), string(buf[len(instant):])
		cells = append(cells[:0],
			number(r.seq), strconv.Itoa(r.line), at, day(r.effective), r.phase, r.event, r.kind, r.source.String(),
			number(r.version), optionalNumber(r.reverses), optionalNumber(r.closes), r.account, r.side, r.currency, r.network, r.env,
			scaleCell(r), r.amount.String(), amount, r.author, r.authorID)
		return w.Write(cells)
	})
	if err != nil {
		return err
	}
	w.Flush()
	return w.Error()
}

// scaleCell returns an asset's number of decimals as text, which is empty if the number is unknown.
func scaleCell(r *row) string {
	if !r.hasScale {
		return ""
	}
	return strconv.Itoa(r.scale)
}

func number(n uint64) string { return strconv.FormatUint(n, 10) }

// optionalNumber formats the seq of another entry as text, which is empty if the seq is 0.
func optionalNumber(seq uint64) string {
	if seq == 0 {
		return ""
	}
	return number(seq)
}
