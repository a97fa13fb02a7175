package export

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
)

// instant is the layout in which booked times are written.
const instant = "2006-01-02T15:04:05.000000Z"

// hledgerTypes declares the classes of accounts to hledger, which needs them for its balance sheet and income statement.
// hledger has no type for memorandum accounts. They are declared as equity, where their balances cancel each other out.
const hledgerTypes = `account A  ; type:A
account L  ; type:L
account Q  ; type:E
account I  ; type:R
account E  ; type:X
account M  ; type:E
account pending  ; type:E
`

// pendingPrefix begins the names of the accounts for holds in hledger.
const pendingPrefix = "pending:"

// hledger writes a journal for hledger 1.21 and later.
type hledger struct {
	*exporter
	out         io.Writer
	commodities *commodities
	buf         []byte
}

func writeHLedger(out io.Writer, x *exporter) error {
	h := &hledger{exporter: x, out: out, commodities: newCommodities(hledgerName)}
	if err := h.preamble(); err != nil {
		return err
	}
	if err := x.eachEntry(h.entry); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n; end of the export: %d entries\n", x.count.Entries)
	return err
}

// heading writes a description of the export as comment lines.
func heading(out io.Writer, b *Book) error {
	_, err := fmt.Fprintf(out, "; Ledger of organization %v, environment %v\n; Booked from %s to %s; the last event by then is %d\n",
		b.Organization, b.Env, orWord(b.From, "the beginning"), oneLine(b.To), b.Last)
	if err == nil && b.Prefix != "" {
		_, err = fmt.Fprintf(out, "; Entries that touch accounts below %s\n", oneLine(b.Prefix))
	}
	return err
}

func orWord(text, word string) string {
	if text == "" {
		return word
	}
	return text
}

// preamble declares accounts and commodities, so that hledger's strict checks pass. It also declares the point as the
// decimal mark. Otherwise hledger would take the point in a number with three decimals for a separator of thousands.
func (h *hledger) preamble() error {
	if err := heading(h.out, h.Book); err != nil {
		return err
	}
	if _, err := io.WriteString(h.out, "; Dates are the effective day = the booked day.\n\ndecimal-mark .\n\n"+hledgerTypes); err != nil {
		return err
	}
	err := h.eachPath(func(path ledger.Path, assets []money.Asset) error {
		for _, a := range assets {
			if _, err := h.commodities.lookup(a); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintf(h.out, "account %s\naccount %s%s\n", path, pendingPrefix, path)
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range h.commodities.byName() {
		h.buf = append(h.buf[:0], "commodity 1000."...)
		for range c.scale {
			h.buf = append(h.buf, '0')
		}
		h.buf = append(h.buf, ' ')
		h.buf = append(h.buf, c.name...)
		if !c.hasScale {
			h.buf = append(h.buf, "  ; "+inMinorUnits...)
		}
		h.buf = append(h.buf, '\n')
		if _, err := h.out.Write(h.buf); err != nil {
			return err
		}
	}
	return nil
}

// entry writes an entry as an hledger transaction. Its status is "cleared" if the entry changes posted balances, and
// "pending" if the entry only holds or releases money. Holds are written as virtual postings, which balance separately.
func (h *hledger) entry(e *ledger.Event) error {
	buf := append(h.buf[:0], '\n')
	buf = append(buf, e.Entry.Effective.String()...)
	buf = append(buf, '=')
	buf = append(buf, e.Booked.Date().String()...)
	buf = append(buf, ' ', statusFlag(e.Entry.Phase), ' ', '(')
	buf = strconv.AppendUint(buf, e.Seq, 10)
	buf = append(buf, ") "...)
	buf = append(buf, oneLine(e.Name)...)
	buf = append(buf, "\n    ; source:"...)
	buf = append(buf, kindOf(e.Source.Kind)...)
	buf = append(buf, ' ')
	buf = append(buf, e.Source.ID.String()...)
	author, authorID, err := h.authorOf(e)
	if err != nil {
		return err
	}
	buf = append(append(buf, "\n    ; author:"...), author...)
	if authorID != "" {
		buf = append(append(buf, "\n    ; author_id:"...), authorID...)
	}
	buf = append(buf, "\n    ; booked:"...)
	buf = e.Booked.Time().AppendFormat(buf, instant)
	buf = append(buf, "\n    ; phase:"...)
	buf = append(buf, e.Entry.Phase.String()...)
	buf = reference(buf, "\n    ; reverses:", e.Entry.Reverses)
	buf = reference(buf, "\n    ; closes:", e.Entry.Closes)
	buf = append(buf, '\n')
	if movesPostedTotals(e.Entry.Phase) {
		buf, err = h.postings(buf, e.Entry.Postings, false, false)
	} else if e.Entry.Phase == ledger.Pending {
		buf, err = h.postings(buf, e.Entry.Postings, true, false)
	}
	if err != nil {
		return err
	}
	released, err := h.released(e.Entry)
	if err != nil {
		return err
	}
	if buf, err = h.postings(buf, released, true, true); err != nil {
		return err
	}
	h.buf = buf
	_, err = h.out.Write(buf)
	return err
}

// movesPostedTotals tells whether an entry of this phase changes posted totals.
func movesPostedTotals(p ledger.Phase) bool { return p == ledger.Posted || p == ledger.Capture }

// statusFlag returns the character for an entry's status, which is the same in hledger and beancount.
func statusFlag(p ledger.Phase) byte {
	if movesPostedTotals(p) {
		return '*'
	}
	return '!'
}

// reference appends the label and the seq of another entry, or nothing if the seq is 0.
func reference(dst []byte, label string, seq uint64) []byte {
	if seq == 0 {
		return dst
	}
	return strconv.AppendUint(append(dst, label...), seq, 10)
}

func (h *hledger) postings(dst []byte, postings []ledger.Posting, pending, released bool) ([]byte, error) {
	for i := range postings {
		p := &postings[i]
		c, err := h.commodities.lookup(p.Asset)
		if err != nil {
			return dst, err
		}
		dst = append(dst, "    "...)
		if pending {
			dst = append(dst, '[')
			dst = append(dst, pendingPrefix...)
			dst = append(append(dst, p.Account...), ']')
		} else {
			dst = append(dst, p.Account...)
		}
		dst = append(dst, "  "...)
		dst = signed(dst, p.Amount, c.scale, sideOf(p, released))
		dst = append(append(append(dst, ' '), c.name...), '\n')
	}
	return dst, nil
}

// sideOf returns a posting's side, or the opposite side if the posting is released.
func sideOf(p *ledger.Posting, released bool) ledger.Side {
	if released {
		return p.Side.Opposite()
	}
	return p.Side
}

// day formats an effective day as a calendar date.
func day(d ledger.Date) string { return d.Time().Format(time.DateOnly) }
