package contract

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
)

// Given is what was sent: the members of a JSON object by their exact names. It was
// strictly parsed before; nothing in it aliases a network buffer.
type Given map[string]json.RawMessage

// Bounds of what is kept of texts and lists, in characters, entries and bytes, where
// a column names none.
const (
	maxText   = 255
	maxList   = 100
	maxObject = 64 << 10
)

// Read takes a table's asked columns out of what was sent. What is wrong is added to
// the faults, under the field's name behind the prefix. Where amounts may also be
// JSON integers, loose is set.
func (t *Table) Read(given Given, loose bool, prefix string, f *Faults) Row {
	r := t.New()
	for _, c := range t.Columns {
		if !c.Asked {
			continue
		}
		raw, sent := given[c.Name]
		if !sent || string(raw) == "null" {
			r[c.place] = c.Default
			if c.Required {
				f.add(prefix+c.Name, "is required")
			}
			continue
		}
		value, wrong := c.read(raw, loose)
		if wrong != "" {
			f.add(prefix+c.Name, "%s", wrong)
			continue
		}
		if value == nil { // an empty text or list says nothing
			value = c.Default
		}
		r[c.place] = value
	}
	return r
}

// read is the column's value, or what is wrong with it.
func (c *Column) read(raw []byte, loose bool) (value any, wrong string) {
	switch c.Kind {
	case Text, Enum, UUID, Date:
		var said string
		if raw[0] != '"' || json.Unmarshal(raw, &said) != nil {
			return nil, "must be a string"
		}
		if !utf8.Valid(raw) { // decoding has put U+FFFD in its place
			return nil, "must be UTF-8"
		}
		return c.readText(said)
	case Integer, Percent:
		return c.readInteger(raw)
	case Bool:
		if s := string(raw); s == "true" || s == "false" {
			return s == "true", ""
		}
		return nil, "must be true or false"
	case Amount:
		return c.readAmount(raw, loose)
	case Shares:
		return readRatio(raw)
	case Review:
		return c.readApproval(raw)
	case Texts:
		return c.readTexts(raw)
	case Object:
		if raw[0] != '{' || len(raw) > maxObject {
			return nil, "must be an object of at most 64 KiB"
		}
		return []byte(raw), ""
	case List:
		return c.readList(raw)
	case Rows:
		if c.Single {
			return c.readSingle(raw, loose)
		}
	}
	return nil, "cannot be set"
}

func (c *Column) readText(said string) (any, string) {
	switch c.Kind {
	case Enum:
		if slices.Contains(c.Words, said) {
			return said, ""
		}
		return nil, "must be one of " + strings.Join(c.Words, ", ")
	case UUID:
		if parsed, err := uuid.Parse(said); err == nil && len(said) == len(parsed.String()) && parsed != uuid.Nil {
			return parsed, ""
		}
		return nil, "must be a UUID"
	case Date:
		return readDate(said)
	}
	if c.Moment && !isMoment(said) {
		return nil, "must be a date, YYYY-MM-DD, or an RFC 3339 time, from 1970 to 9000"
	}
	if said == "" && !c.Required { // an empty text says nothing
		return nil, ""
	}
	most := c.Most
	if most == 0 {
		most = maxText
	}
	if wrong := sayable(said); wrong != "" {
		return nil, wrong
	}
	switch {
	case c.Longer > 0 && utf8.RuneCountInString(trimmed(said)) <= c.Longer:
		return nil, "must be longer than " + strconv.Itoa(c.Longer) + " characters"
	case utf8.RuneCountInString(said) > most:
		return nil, "must be at most " + strconv.Itoa(most) + " characters"
	}
	return said, ""
}

// firstYear and lastYear bound dates: a term that begins then ends before the
// calendar's four digits do.
const firstYear, lastYear = 1970, 9000

// ParseDate reads YYYY-MM-DD, a day that the calendar has.
func ParseDate(said string) (ledger.Date, bool) {
	at, err := time.Parse(time.DateOnly, said)
	if err != nil || !datable(at) {
		return 0, false
	}
	return ledger.DateOf(at), true
}

// datable tells whether an instant is in one of the years that dates are of.
func datable(at time.Time) bool { return at.Year() >= firstYear && at.Year() <= lastYear }

// readDate tells a day that is out of range from what is no day at all.
func readDate(said string) (any, string) {
	if day, ok := ParseDate(said); ok {
		return day, ""
	}
	if _, err := time.Parse(time.DateOnly, said); err == nil {
		return nil, "must be a date from 1970-01-01 to 9000-12-31"
	}
	return nil, "must be a date, YYYY-MM-DD"
}

// isMoment tells whether a text is a date, or an instant as RFC 3339 has it.
func isMoment(said string) bool {
	if _, ok := ParseDate(said); ok {
		return true
	}
	var at time.Time // whose own rules are stricter than those of time.Parse
	return at.UnmarshalText([]byte(said)) == nil && datable(at)
}

func (c *Column) readInteger(raw []byte) (any, string) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	plain := err == nil && strconv.FormatInt(n, 10) == string(raw)
	if !plain || n < c.Min || n > c.Max {
		return nil, "must be an integer from " + strconv.FormatInt(c.Min, 10) + " to " + strconv.FormatInt(c.Max, 10)
	}
	return n, ""
}

// readAmount reads minor units: digits without a leading zero.
func (c *Column) readAmount(raw []byte, loose bool) (any, string) {
	form := "must be a string of minor units"
	if loose {
		form = "must be minor units, as an integer or a string of digits"
	}
	digits := raw
	switch {
	case raw[0] == '"':
		digits = raw[1 : len(raw)-1]
	case !loose:
		return nil, form
	}
	a, err := money.ParseBytes(digits)
	switch {
	case err != nil:
		return nil, form
	case a.IsZero() && !c.Zero:
		return nil, "must be above zero"
	case ledger.MaxAmount.Less(a):
		return nil, "is out of range"
	}
	return a, ""
}

func readRatio(raw []byte) (any, string) {
	const form = "must be {bank, customer}, whole percent that add up to 100"
	var sent map[string]json.RawMessage
	if raw[0] != '{' || json.Unmarshal(raw, &sent) != nil {
		return nil, form
	}
	part := percent(1, "", 0, 100, asked)
	bank, wrongBank := part.readInteger(sent["bank"])
	customer, wrongCustomer := part.readInteger(sent["customer"])
	if wrongBank != "" || wrongCustomer != "" {
		return nil, form
	}
	r := Ratio{Bank: bank.(int64), Customer: customer.(int64)}
	if r.Bank+r.Customer != 100 {
		return nil, form
	}
	return r, ""
}

func (c *Column) readTexts(raw []byte) (any, string) {
	var sent []string
	if raw[0] != '[' || json.Unmarshal(raw, &sent) != nil {
		return nil, "must be a list of strings"
	}
	if len(sent) > maxList {
		return nil, "has more than " + strconv.Itoa(maxList) + " entries"
	}
	for _, said := range sent {
		if !utf8.Valid(raw) || sayable(said) != "" || utf8.RuneCountInString(said) > maxText {
			return nil, "each entry must be a text of 1 to " + strconv.Itoa(maxText) + " characters"
		}
	}
	if len(sent) == 0 {
		return nil, ""
	}
	return sent, ""
}

// readSingle takes an object whose members are the columns of one row.
func (c *Column) readSingle(raw []byte, loose bool) (any, string) {
	row, wrong := c.readMembers(raw, loose)
	if wrong != "" {
		return nil, wrong
	}
	return []Row{row}, ""
}

// readMembers takes an object's members by the columns of the column's table.
func (c *Column) readMembers(raw []byte, loose bool) (Row, string) {
	var sent Given
	if raw[0] != '{' || json.Unmarshal(raw, &sent) != nil {
		return nil, "must be an object"
	}
	wrong := new(Faults)
	row := c.Of.Read(sent, loose, "", wrong)
	if !wrong.none() {
		return nil, wrong.List[0].Field + " " + wrong.List[0].Message
	}
	return row, ""
}

// readList takes a list whose entries are kept as they were sent.
func (c *Column) readList(raw []byte) (any, string) {
	var sent []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &sent) != nil || len(raw) > maxObject {
		return nil, "must be a list of at most 64 KiB"
	}
	if len(sent) == 0 {
		return nil, "must not be empty"
	}
	for _, entry := range sent {
		if !isDocument(entry) {
			return nil, "each entry must be a text of 1 to " + strconv.Itoa(maxText) + " characters, or an object that is not empty"
		}
	}
	return []byte(raw), ""
}

// isDocument tells whether an entry of a list says something: a text that can be seen,
// or an object with a member.
func isDocument(entry []byte) bool {
	var said string
	var members map[string]json.RawMessage
	switch entry[0] {
	case '"':
		return utf8.Valid(entry) && json.Unmarshal(entry, &said) == nil && sayable(said) == "" && utf8.RuneCountInString(said) <= maxText
	case '{':
		return json.Unmarshal(entry, &members) == nil && len(members) > 0
	}
	return false
}

// readApproval takes an object whose members are those of a review.
func (c *Column) readApproval(raw []byte) (any, string) {
	row, wrong := c.readMembers(raw, false)
	if wrong != "" {
		return nil, wrong
	}
	return approvalOf(c.Of, row), ""
}

// maxNote bounds a review's texts in characters.
const maxNote = 2000
