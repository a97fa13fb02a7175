package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
	"unique"

	"github.com/google/uuid"

	"mizan/ledger"
)

// MaxText is the default bound of texts, in characters.
const MaxText = 255

// The kinds whose values are strings in JSON.
var (
	KindText Kind = textKind{} // string
	KindEnum Kind = enumKind{} // string, one of Column.Words
	KindWord Kind = wordKind{} // string, one of Column.Words; the error message lists the words as a sentence
	KindID   Kind = idKind{}   // ledger.ID
	KindDate Kind = dateKind{} // ledger.Date
)

// Text returns a column of texts.
func Text(key uint8, name string, options ...Option) TypedColumn[string] {
	return NewTypedColumn[string](key, name, KindText, options)
}

// Enum returns a column of texts that allows only the given words.
func Enum(key uint8, name string, words []string, options ...Option) TypedColumn[string] {
	return NewTypedColumn[string](key, name, KindEnum, append(options, func(c *Column) { c.Words = words }))
}

// Word returns a column of texts that allows only the given words, like Enum. Its error message lists the words as a
// sentence: "must be prod or test".
func Word(key uint8, name string, words []string, options ...Option) TypedColumn[string] {
	return NewTypedColumn[string](key, name, KindWord, append(options, func(c *Column) { c.Words = words }))
}

// ID returns a column of UUIDs.
func ID(key uint8, name string, options ...Option) TypedColumn[ledger.ID] {
	return NewTypedColumn[ledger.ID](key, name, KindID, options)
}

// Date returns a column of days.
func Date(key uint8, name string, options ...Option) TypedColumn[ledger.Date] {
	return NewTypedColumn[ledger.Date](key, name, KindDate, options)
}

// readString parses a JSON string.
func readString(raw []byte) (text, problem string) {
	if raw[0] != '"' || json.Unmarshal(raw, &text) != nil {
		return "", "must be a string"
	}
	if !utf8.Valid(raw) { // json.Unmarshal replaces invalid bytes with U+FFFD and reports no error
		return "", "must be UTF-8"
	}
	return text, ""
}

type textKind struct{}

func (textKind) String() string { return "text" }

// Parse implements Kind. An empty text counts as absent, unless the column is required or DateOrTime.
func (textKind) Parse(c *Column, raw []byte, _ ParseOptions) (any, string) {
	text, problem := readString(raw)
	if problem != "" || text == "" && !c.Required && !c.DateOrTime {
		return nil, problem
	}
	return text, ""
}

func (textKind) Check(c *Column, value any) string {
	text := value.(string)
	if c.DateOrTime && !isDateOrTime(text) {
		return "must be a date, YYYY-MM-DD, or an RFC 3339 time, from 1970 to 9000"
	}
	maxLength := c.MaxLength
	if maxLength == 0 {
		maxLength = MaxText
	}
	if problem := textProblem(text); problem != "" {
		return problem
	}
	switch {
	case c.OneLine && strings.ContainsFunc(text, unicode.IsControl):
		return "must not hold control characters"
	case c.OneLine && strings.ContainsFunc(text, isLayoutControl):
		return "must not hold invisible characters that change how other text is shown"
	case c.LongerThan > 0 && utf8.RuneCountInString(trimInvisible(text)) <= c.LongerThan:
		return "must be longer than " + strconv.Itoa(c.LongerThan) + " characters"
	case utf8.RuneCountInString(text) > maxLength:
		return "must be at most " + strconv.Itoa(maxLength) + " characters"
	}
	return ""
}

func (textKind) AppendStored(_ *Column, dst []byte, value any) []byte {
	return append(dst, value.(string)...)
}

func (textKind) ReadStored(c *Column, stored []byte) (any, bool) {
	if c.Shared {
		return unique.Make(string(stored)).Value(), true
	}
	return string(stored), true
}

func (textKind) AppendJSON(_ *Column, dst []byte, value any, _ Style) []byte {
	return AppendText(dst, value.(string))
}

func (textKind) Empty(value any) bool { return value == "" }

type enumKind struct{ textKind }

func (enumKind) String() string { return "word" }

func (enumKind) Parse(_ *Column, raw []byte, _ ParseOptions) (any, string) {
	text, problem := readString(raw)
	if problem != "" {
		return nil, problem
	}
	return text, ""
}

func (enumKind) Check(c *Column, value any) string {
	if slices.Contains(c.Words, value.(string)) {
		return ""
	}
	return "must be one of " + strings.Join(c.Words, ", ")
}

// ReadStored implements Kind. It returns the string from Column.Words, so that all records share the memory of one string.
func (enumKind) ReadStored(c *Column, stored []byte) (any, bool) {
	if i := slices.Index(c.Words, string(stored)); i >= 0 {
		return c.Words[i], true
	}
	return string(stored), true
}

type wordKind struct{ enumKind }

// Parse implements Kind. It refuses an unknown word at once and does not leave this to Check, because the Go type of the
// record's field may have no value for the word.
func (k wordKind) Parse(c *Column, raw []byte, options ParseOptions) (any, string) {
	value, problem := k.enumKind.Parse(c, raw, options)
	if problem == "" {
		problem = k.Check(c, value)
	}
	if problem != "" {
		return nil, problem
	}
	return value, ""
}

func (wordKind) Check(c *Column, value any) string {
	if slices.Contains(c.Words, value.(string)) {
		return ""
	}
	return "must be " + JoinWords(c.Words, "or")
}

// ReadStored implements Kind. It refuses unknown words.
func (wordKind) ReadStored(c *Column, stored []byte) (any, bool) {
	i := slices.Index(c.Words, string(stored))
	if i < 0 {
		return nil, false
	}
	return c.Words[i], true
}

// JoinWords returns the words as a list for use in a sentence, for example "a, b or c".
func JoinWords(words []string, conjunction string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " " + conjunction + " " + words[last]
}

type idKind struct {
	NeverEmpty
	Unbounded
}

func (idKind) String() string { return "UUID" }

func (idKind) Parse(_ *Column, raw []byte, _ ParseOptions) (any, string) {
	text, problem := readString(raw)
	if problem != "" {
		return nil, problem
	}
	if parsed, err := uuid.Parse(text); err == nil && len(text) == len(parsed.String()) && parsed != uuid.Nil {
		return parsed, ""
	}
	return nil, "must be a UUID"
}

func (idKind) AppendStored(_ *Column, dst []byte, value any) []byte {
	id := value.(ledger.ID)
	return append(dst, id[:]...)
}

func (idKind) ReadStored(_ *Column, stored []byte) (any, bool) {
	if len(stored) != len(ledger.ID{}) {
		return nil, false
	}
	return ledger.ID(stored), true
}

func (idKind) AppendJSON(_ *Column, dst []byte, value any, _ Style) []byte {
	return append(AppendID(append(dst, '"'), value.(ledger.ID)), '"')
}

type dateKind struct {
	NeverEmpty
	Unbounded
}

func (dateKind) String() string { return "date" }

// Parse implements Kind. The error message for a date that is out of range differs from the message for a text that is not a
// date.
func (dateKind) Parse(_ *Column, raw []byte, _ ParseOptions) (any, string) {
	text, problem := readString(raw)
	if problem != "" {
		return nil, problem
	}
	if day, ok := ParseDate(text); ok {
		return day, ""
	}
	if _, err := time.Parse(time.DateOnly, text); err == nil {
		return nil, "must be a date from 1970-01-01 to 9000-12-31"
	}
	return nil, "must be a date, YYYY-MM-DD"
}

func (dateKind) AppendStored(_ *Column, dst []byte, value any) []byte {
	return appendNumber(dst, int64(value.(ledger.Date)))
}

func (dateKind) ReadStored(_ *Column, stored []byte) (any, bool) {
	n, ok := readNumber(stored)
	return ledger.Date(n), ok && int64(ledger.Date(n)) == n
}

func (dateKind) AppendJSON(_ *Column, dst []byte, value any, _ Style) []byte {
	return appendWord(dst, value.(ledger.Date).String())
}

// minYear and MaxYear are the first and the last year that a date may have. With these bounds, the year in which a contract's
// term ends always has four digits.
const minYear, MaxYear = 1970, 9000

// ParseDate parses a date in the form YYYY-MM-DD. It must exist in the calendar, and be in a year from minYear to MaxYear.
func ParseDate(text string) (ledger.Date, bool) {
	at, err := time.Parse(time.DateOnly, text)
	if err != nil || !validYear(at) {
		return 0, false
	}
	return ledger.DateOf(at), true
}

// validYear tells whether an instant is in a year from minYear to MaxYear.
func validYear(at time.Time) bool { return at.Year() >= minYear && at.Year() <= MaxYear }

// isDateOrTime tells whether a text is a date or an RFC 3339 time, in a year from minYear to MaxYear.
func isDateOrTime(text string) bool {
	if _, ok := ParseDate(text); ok {
		return true
	}
	var at time.Time // UnmarshalText is stricter than time.Parse
	return at.UnmarshalText([]byte(text)) == nil && validYear(at)
}
