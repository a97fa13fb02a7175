package auditor

import (
	"bytes"
	"encoding/csv"
	"net/url"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"mizan/api/console/visit"
	"mizan/api/web"
	"mizan/internal/assert"
)

// maxCSVLines is the greatest number of lines in the CSV file of a statement, which the page tells the auditor. For more lines,
// the auditor must download several shorter periods, or an export.
const maxCSVLines = 20 * web.ListMax

var headerDisposition = []byte(fiber.HeaderContentDisposition)

// sendStatement is GET /console/ledger/accounts/{path}/statement.csv. It sends the lines of a statement, newest first, like on
// the page.
func sendStatement(v *visit.Visit) error {
	q := with(statementQuery(v), "limit", strconv.Itoa(web.ListMax), "cursor", "")
	path := pathOf(v)
	accounts, err := readAccount(v, path, with(q, "from", "", "to", "", "limit", ""))
	if err != nil {
		return err
	}
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	write := func(fields ...string) { assert.NoError(w.Write(fields)) } // writing to a buffer never fails
	write("booked_at", "seq", "source", "event", "phase", "side", "currency", "network", "env", "amount_minor", "amount", "balance_minor", "balance")
	lines := linesQuery(q)
	for range maxCSVLines / web.ListMax {
		l, err := readList[statementLine](v, apiAccounts+url.PathEscape(path)+"/postings", lines)
		if err != nil {
			return err
		}
		for _, r := range l.Data {
			a := &accounts[0].Asset
			write(r.BookedAt, seqText(r.Seq), r.Source, r.Name, r.Phase, r.Side, a.Currency, a.Network, a.Env, r.Amount, major(r.Amount, a), r.Balance, major(r.Balance, a))
		}
		if l.Cursor.Value == "" {
			break
		}
		lines.Set("cursor", l.Cursor.Value)
	}
	w.Flush()
	h := &v.Response.Header
	h.SetContentType("text/csv; charset=utf-8")
	h.SetCanonical(headerDisposition, []byte(`attachment; filename="statement-`+strings.ReplaceAll(path, ":", "-")+`.csv"`))
	h.SetCanonical(web.HeaderCache, web.ValueNoStore)
	h.SetCanonical(web.HeaderNoSniff, web.ValueNoSniff)
	v.Response.SetBody(out.Bytes())
	return nil
}

// major converts minor units to major units, with a decimal point and all decimal places. If the asset's number of decimal
// places is unknown, the result is empty.
func major(minor string, a *asset) string {
	scale, known := a.scale()
	if !known || scale == 0 {
		if known {
			return minor
		}
		return ""
	}
	digits, isNegative := strings.CutPrefix(minor, "-")
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	point := len(digits) - scale
	text := digits[:point] + "." + digits[point:]
	if isNegative {
		return "-" + text
	}
	return text
}
