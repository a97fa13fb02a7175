package export

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"mizan/ledger"
	"mizan/ledger/money"
)

// openingDay is the opening date of all accounts in beancount. It is before the date of any entry.
const openingDay = "1970-01-01"

// beancount writes a ledger for beancount 2 and 3. The date of an entry is its effective day; its booked time is in the
// metadata. A beancount link joins an entry to the entry that it reverses or closes.
type beancount struct {
	*exporter
	out         io.Writer
	commodities *commodities
	buf         []byte
}

func writeBeancount(out io.Writer, x *exporter) error {
	b := &beancount{exporter: x, out: out, commodities: newCommodities(beancountName)}
	if err := b.preamble(); err != nil {
		return err
	}
	if err := x.eachEntry(b.entry); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n; end of the export: %d entries\n", x.count.Entries)
	return err
}

// preamble opens every account with a list of its commodities, so that beancount reports a posting in any other commodity as an
// error.
func (b *beancount) preamble() error {
	if err := heading(b.out, b.Book); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(b.out, "\noption \"title\" \"Ledger of organization %v, %v\"\n\n", b.Organization, b.Env); err != nil {
		return err
	}
	err := b.eachPath(func(path ledger.Path, assets []money.Asset) error {
		names := make([]string, len(assets))
		for i, a := range assets {
			c, err := b.commodities.lookup(a)
			if err != nil {
				return err
			}
			names[i] = c.name
		}
		list := strings.Join(names, ",")
		_, err := fmt.Fprintf(b.out, "%s open %s %s\n%s open %s %s\n",
			openingDay, beancountAccount(path, false), list, openingDay, beancountAccount(path, true), list)
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range b.commodities.byName() {
		dst := fmt.Appendf(b.buf[:0], "%s commodity %s\n", openingDay, c.name)
		if containsHash(c.name) {
			dst = append(quoted(append(dst, "  asset: "...), c.asset.String()), '\n')
		}
		if !c.hasScale {
			dst = append(quoted(append(dst, "  comment: "...), inMinorUnits), '\n')
		}
		b.buf = dst
		if _, err := b.out.Write(dst); err != nil {
			return err
		}
	}
	return nil
}

func (b *beancount) entry(e *ledger.Event) error {
	dst := append(b.buf[:0], '\n')
	dst = append(dst, day(e.Entry.Effective)...)
	dst = append(dst, ' ', statusFlag(e.Entry.Phase), ' ')
	dst = quoted(dst, e.Name)
	dst = reference(dst, " ^seq-", e.Seq)
	dst = reference(dst, " ^seq-", e.Entry.Reverses)
	dst = reference(dst, " ^seq-", e.Entry.Closes)
	dst = reference(dst, "\n  seq: ", e.Seq)
	dst = append(dst, "\n  source: "...)
	dst = quoted(dst, kindOf(e.Source.Kind)+" "+e.Source.ID.String())
	author, authorID, err := b.authorOf(e)
	if err != nil {
		return err
	}
	dst = quoted(append(dst, "\n  author: "...), author)
	if authorID != "" {
		dst = quoted(append(dst, "\n  author-id: "...), authorID)
	}
	dst = append(dst, "\n  booked: \""...)
	dst = e.Booked.Time().AppendFormat(dst, instant)
	dst = append(dst, "\"\n  phase: "...)
	dst = quoted(dst, e.Entry.Phase.String())
	dst = reference(dst, "\n  reverses: ", e.Entry.Reverses)
	dst = reference(dst, "\n  closes: ", e.Entry.Closes)
	dst = append(dst, '\n')
	if e.Entry.Phase != ledger.Void {
		if dst, err = b.postings(dst, e.Entry.Postings, !movesPostedTotals(e.Entry.Phase), false); err != nil {
			return err
		}
	}
	released, err := b.released(e.Entry)
	if err != nil {
		return err
	}
	if dst, err = b.postings(dst, released, true, true); err != nil {
		return err
	}
	b.buf = dst
	_, err = b.out.Write(dst)
	return err
}

func (b *beancount) postings(dst []byte, postings []ledger.Posting, pending, released bool) ([]byte, error) {
	for i := range postings {
		p := &postings[i]
		c, err := b.commodities.lookup(p.Asset)
		if err != nil {
			return dst, err
		}
		dst = append(dst, "  "...)
		dst = appendBeancountAccount(dst, p.Account, pending)
		dst = append(dst, "  "...)
		dst = signed(dst, p.Amount, c.scale, sideOf(p, released))
		dst = append(append(append(dst, ' '), c.name...), '\n')
	}
	return dst, nil
}

// quoted appends s as a quoted string of beancount.
func quoted(dst []byte, s string) []byte {
	s = oneLine(s)
	if !strings.ContainsAny(s, `"\`) {
		return append(append(append(dst, '"'), s...), '"')
	}
	return strconv.AppendQuote(dst, s)
}
