package csvfile

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/reconciliation"
	"mizan/ledger/schema"
)

// Mapping says which columns of a file have which values. Optional columns are empty if the file has none.
type Mapping struct {
	Date      string
	Amount    string // before the fee; negative if the line lowers what the provider owes
	Currency  string
	Fee       string // optional; negative if the provider returns a fee
	Reference string
	Kind      string // optional; without it, the amount's sign decides between charge and refund
	ID        string // optional: the provider's own id of the line
	Scale     string // Major or Minor
}

// Values of Mapping.Scale.
const (
	Major = "major" // amounts like 12.34
	Minor = "minor" // amounts like 1234, in the smallest unit of the currency
)

// Members are the names of the mapping's members in a request, in a fixed order, with the fields that they set.
func (m *Mapping) Members() []Member {
	return []Member{
		{"date", &m.Date, true}, {"amount", &m.Amount, true}, {"currency", &m.Currency, true}, {"fee", &m.Fee, false},
		{"reference", &m.Reference, true}, {"kind", &m.Kind, false}, {"id", &m.ID, false}, {"scale", &m.Scale, true},
	}
}

// Member is a member of a mapping.
type Member struct {
	Name       string
	Value      *string
	IsRequired bool
}

// String returns the mapping in a canonical form, for the key of a report's claim.
func (m *Mapping) String() string {
	var text strings.Builder
	for _, member := range m.Members() {
		fmt.Fprintf(&text, "%s=%q;", member.Name, *member.Value)
	}
	return text.String()
}

// ErrTooManyLines is returned for a file with more lines than a report may have.
var ErrTooManyLines = fmt.Errorf("has more than %d lines", reconciliation.MaxLines)

// columnError says which column a mapping names wrongly.
type columnError struct{ member, problem string }

func (e *columnError) Error() string { return e.member + ": " + e.problem }

// MappingProblem returns which member of the mapping is wrong if err says so.
func MappingProblem(err error) (member, problem string, ok bool) {
	if e, is := errors.AsType[*columnError](err); is {
		return e.member, e.problem, true
	}
	return "", "", false
}

// reader has the positions of the columns in a file; -1 for a column that the mapping does not name.
type reader struct {
	mapping                                          *Mapping
	env                                              money.Env
	date, amount, currency, fee, reference, kind, id int
}

// Read returns the lines of a file. Amounts belong to the environment env. The error's text says what is wrong and where.
func Read(content []byte, mapping *Mapping, env money.Env) ([]reconciliation.Line, error) {
	content = bytes.TrimPrefix(content, []byte("\xef\xbb\xbf")) // spreadsheets write a byte order mark
	file := csv.NewReader(bytes.NewReader(content))
	file.ReuseRecord = true
	header, err := file.Read()
	if err == io.EOF {
		return nil, errors.New("is empty")
	}
	if err != nil {
		return nil, describe(err)
	}
	r := &reader{mapping: mapping, env: env}
	for _, c := range []struct {
		member, name string
		at           *int
	}{
		{"date", mapping.Date, &r.date}, {"amount", mapping.Amount, &r.amount}, {"currency", mapping.Currency, &r.currency}, {"fee", mapping.Fee, &r.fee},
		{"reference", mapping.Reference, &r.reference}, {"kind", mapping.Kind, &r.kind}, {"id", mapping.ID, &r.id},
	} {
		if *c.at = -1; c.name == "" {
			continue
		}
		*c.at = slices.Index(header, c.name)
		if *c.at < 0 || slices.Contains(header[*c.at+1:], c.name) {
			return nil, &columnError{c.member, "names no column of the file, or more than one"}
		}
	}
	var lines []reconciliation.Line
	for {
		record, err := file.Read()
		switch {
		case err == io.EOF && len(lines) == 0:
			return nil, errors.New("has no lines")
		case err == io.EOF:
			return lines, nil
		case err != nil:
			return nil, describe(err)
		case len(lines) == reconciliation.MaxLines:
			return nil, ErrTooManyLines
		}
		line, field, problem := r.line(record)
		if problem == "" {
			field, problem = line.Check()
		}
		if problem != "" {
			n, _ := file.FieldPos(0)
			return nil, fmt.Errorf("line %d: %s %s", n, field, problem)
		}
		lines = append(lines, line)
	}
}

// describe returns the error of a malformed file without its content.
func describe(err error) error {
	if e, ok := errors.AsType[*csv.ParseError](err); ok {
		return fmt.Errorf("line %d: %v", e.Line, e.Err)
	}
	return err
}

// line reads a record. If problem is not empty, field names what is wrong.
func (r *reader) line(record []string) (l reconciliation.Line, field, problem string) {
	text := func(at int) string {
		if at < 0 {
			return ""
		}
		return strings.Clone(strings.TrimSpace(record[at]))
	}
	var ok bool
	if l.Date, ok = parseDate(text(r.date)); !ok {
		return l, "date", "must be a day, yyyy-mm-dd, or an instant in RFC 3339"
	}
	code := strings.ToUpper(text(r.currency))
	currency, accepted := money.AcceptedCurrency(code)
	if !accepted {
		return l, "currency", "is not accepted"
	}
	l.Asset = money.Asset{Currency: currency, Network: money.ResolveNetwork(currency, ""), Env: r.env}
	digits := 0
	if r.mapping.Scale == Major {
		if digits, ok = l.Asset.Scale(); !ok {
			return l, "currency", "has no known number of decimals: use minor units"
		}
	}
	amount, ok := ParseDecimal(text(r.amount), digits)
	if !ok {
		return l, "amount", amountRule(digits)
	}
	if fee := text(r.fee); fee != "" {
		if l.Fee, ok = ParseDecimal(fee, digits); !ok {
			return l, "fee", amountRule(digits)
		}
	}
	l.Amount, l.Outgoing, l.Kind = amount.Abs, amount.Negative, reconciliation.Charge
	if amount.Negative {
		l.Kind = reconciliation.Refund
	}
	if word := strings.ToLower(text(r.kind)); r.kind >= 0 {
		if l.Kind, ok = reconciliation.ParseLineKind(word); !ok {
			return l, "kind", "must be " + schema.JoinWords(reconciliation.LineKindWords(), "or")
		}
		l.Outgoing = amount.Negative || isOutgoing(l.Kind)
	}
	if reference := text(r.reference); reference != "" {
		l.References = []string{reference}
	}
	l.ID = text(r.id)
	return l, "", ""
}

// isOutgoing tells whether lines of the kind lower what the provider owes, whatever the sign of their amount.
func isOutgoing(k reconciliation.LineKind) bool {
	switch k {
	case reconciliation.Refund, reconciliation.Dispute, reconciliation.FeeCharge, reconciliation.PaidOut:
		return true
	}
	return false
}

func amountRule(digits int) string {
	if digits == 0 {
		return "must be a whole number of minor units"
	}
	return fmt.Sprintf("must be a number with at most %d decimals", digits)
}

// ParseDecimal parses an optional sign, digits and, if digits is above zero, a decimal point with at most so many decimals. It
// returns the number in units of the last decimal.
func ParseDecimal(text string, digits int) (money.Signed, bool) {
	isNegative := strings.HasPrefix(text, "-")
	if isNegative || strings.HasPrefix(text, "+") {
		text = text[1:]
	}
	whole, decimals, hasPoint := strings.Cut(text, ".")
	if len(decimals) > digits || hasPoint && decimals == "" || whole == "" || len(whole) > money.MaxDigits {
		return money.Signed{}, false
	}
	all := strings.TrimLeft(whole+decimals+strings.Repeat("0", digits-len(decimals)), "0")
	if all == "" {
		all = "0"
	}
	amount, err := money.Parse(all)
	if err != nil || strings.Trim(whole, "0123456789") != "" {
		return money.Signed{}, false
	}
	return money.Signed{Negative: isNegative && !amount.IsZero(), Abs: amount}, true
}

// dateLayouts are the forms of dates. A form without a zone is in UTC.
var dateLayouts = []string{time.DateOnly, time.RFC3339Nano, time.DateTime, "2006-01-02T15:04:05"}

// parseDate returns the UTC day of a date.
func parseDate(text string) (ledger.Date, bool) {
	for _, layout := range dateLayouts {
		if at, err := time.Parse(layout, text); err == nil && at.Year() >= 1970 && at.Year() < 9000 {
			return ledger.DateOf(at), true
		}
	}
	return 0, false
}
