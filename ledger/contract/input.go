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

// Input is the body of a request: the members of a JSON object by their exact names. It has
// been parsed strictly, and does not alias a network buffer.
type Input map[string]json.RawMessage

// Default bounds of texts in characters, of lists in entries, and of objects in bytes.
const (
	maxText   = 255
	maxList   = 100
	maxObject = 64 << 10
)

// Read reads the table's settable columns from a request body. Faults are added under the
// prefix and the name of the field. With loose, amounts may be JSON integers too.
func (t *Table) Read(input Input, loose bool, prefix string, f *Faults) Row {
	r := t.New()
	for _, c := range t.Columns {
		if !c.Asked {
			continue
		}
		raw, sent := input[c.Name]
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
		if value == nil { // an empty text or list counts as not sent
			value = c.Default
		}
		r[c.place] = value
	}
	return r
}

// read parses a value of the column. wrong is the error message, empty if there is none.
func (c *Column) read(raw []byte, loose bool) (value any, wrong string) {
	switch c.Kind {
	case Text, Enum, UUID, Date:
		var text string
		if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
			return nil, "must be a string"
		}
		if !utf8.Valid(raw) { // decoding has replaced it with U+FFFD
			return nil, "must be UTF-8"
		}
		return c.readText(text)
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
		return readShares(raw)
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

func (c *Column) readText(text string) (any, string) {
	switch c.Kind {
	case Enum:
		if slices.Contains(c.Words, text) {
			return text, ""
		}
		return nil, "must be one of " + strings.Join(c.Words, ", ")
	case UUID:
		if parsed, err := uuid.Parse(text); err == nil && len(text) == len(parsed.String()) && parsed != uuid.Nil {
			return parsed, ""
		}
		return nil, "must be a UUID"
	case Date:
		return readDate(text)
	}
	if c.DateOrTime && !isDateOrTime(text) {
		return nil, "must be a date, YYYY-MM-DD, or an RFC 3339 time, from 1970 to 9000"
	}
	if text == "" && !c.Required { // an empty text counts as not sent
		return nil, ""
	}
	most := c.MaxLength
	if most == 0 {
		most = maxText
	}
	if wrong := textProblem(text); wrong != "" {
		return nil, wrong
	}
	switch {
	case c.LongerThan > 0 && utf8.RuneCountInString(trimmed(text)) <= c.LongerThan:
		return nil, "must be longer than " + strconv.Itoa(c.LongerThan) + " characters"
	case utf8.RuneCountInString(text) > most:
		return nil, "must be at most " + strconv.Itoa(most) + " characters"
	}
	return text, ""
}

// minYear and maxYear bound dates, so that every term ends in a year of four digits.
const minYear, maxYear = 1970, 9000

// ParseDate parses YYYY-MM-DD, a day of the calendar between minYear and maxYear.
func ParseDate(text string) (ledger.Date, bool) {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil || !validYear(at) {
		return 0, false
	}
	return ledger.DateOf(at), true
}

// validYear tells whether an instant is between minYear and maxYear.
func validYear(at time.Time) bool { return at.Year() >= minYear && at.Year() <= maxYear }

// readDate parses a date. Its message differs for a date out of range and for no date.
func readDate(text string) (any, string) {
	if day, ok := ParseDate(text); ok {
		return day, ""
	}
	if _, err := time.Parse(time.DateOnly, text); err == nil {
		return nil, "must be a date from 1970-01-01 to 9000-12-31"
	}
	return nil, "must be a date, YYYY-MM-DD"
}

// isDateOrTime tells whether a text is a date or an RFC 3339 time.
func isDateOrTime(text string) bool {
	if _, ok := ParseDate(text); ok {
		return true
	}
	var at time.Time // UnmarshalText is stricter than time.Parse
	return at.UnmarshalText([]byte(text)) == nil && validYear(at)
}

func (c *Column) readInteger(raw []byte) (any, string) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	plain := err == nil && strconv.FormatInt(n, 10) == string(raw)
	if !plain || n < c.Min || n > c.Max {
		return nil, "must be an integer from " + strconv.FormatInt(c.Min, 10) + " to " + strconv.FormatInt(c.Max, 10)
	}
	return n, ""
}

// readAmount parses minor units: digits without a leading zero.
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

func readShares(raw []byte) (any, string) {
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
	for _, text := range sent {
		if !utf8.Valid(raw) || textProblem(text) != "" || utf8.RuneCountInString(text) > maxText {
			return nil, "each entry must be a text of 1 to " + strconv.Itoa(maxText) + " characters"
		}
	}
	if len(sent) == 0 {
		return nil, ""
	}
	return sent, ""
}

// readSingle parses an object as the only row of a Rows column.
func (c *Column) readSingle(raw []byte, loose bool) (any, string) {
	row, wrong := c.readMembers(raw, loose)
	if wrong != "" {
		return nil, wrong
	}
	return []Row{row}, ""
}

// readMembers parses an object by the columns of c.Of.
func (c *Column) readMembers(raw []byte, loose bool) (Row, string) {
	var sent Input
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

// readList parses a list whose entries are kept as they were sent.
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

// isDocument tells whether an entry of a list is a visible text or a non-empty object.
func isDocument(entry []byte) bool {
	var text string
	var members map[string]json.RawMessage
	switch entry[0] {
	case '"':
		return utf8.Valid(entry) && json.Unmarshal(entry, &text) == nil && textProblem(text) == "" && utf8.RuneCountInString(text) <= maxText
	case '{':
		return json.Unmarshal(entry, &members) == nil && len(members) > 0
	}
	return false
}

// readApproval parses the conclusion of a review.
func (c *Column) readApproval(raw []byte) (any, string) {
	row, wrong := c.readMembers(raw, false)
	if wrong != "" {
		return nil, wrong
	}
	return approvalOf(c.Of, row), ""
}

// maxNote is the length limit of a review's texts, in characters.
const maxNote = 2000
