package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Default bounds of lists and of JSON documents.
const (
	MaxList   = 100      // entries
	MaxObject = 64 << 10 // bytes
)

// The kinds whose values are lists or objects.
var (
	KindTexts  Kind = textsKind{}  // []string
	KindObject Kind = objectKind{} // []byte, a JSON object exactly as it was sent
	KindList   Kind = listKind{}   // []byte, a non-empty JSON list of strings and objects, exactly as it was sent
	KindRows   Kind = rowsKind{}   // []Row, rows of the table Column.Nested
)

// Texts returns a column whose values are lists of texts.
func Texts(key uint8, name string, options ...Option) TypedColumn[[]string] {
	return NewTypedColumn[[]string](key, name, KindTexts, options)
}

// Object returns a column whose values are JSON objects. An object is stored byte for byte as it was sent.
func Object(key uint8, name string, options ...Option) TypedColumn[[]byte] {
	return NewTypedColumn[[]byte](key, name, KindObject, options)
}

// List returns a column whose values are JSON lists of texts and objects. A list is stored byte for byte as it was sent.
func List(key uint8, name string, options ...Option) TypedColumn[[]byte] {
	return NewTypedColumn[[]byte](key, name, KindList, options)
}

// Rows returns a column whose values are lists of rows of another table.
func Rows(key uint8, name string, table *Table, options ...Option) TypedColumn[[]Row] {
	return NewTypedColumn[[]Row](key, name, KindRows, append(options, func(c *Column) { c.Nested = table }))
}

type textsKind struct{}

func (textsKind) String() string { return "list of texts" }

// Parse implements Kind. An empty list counts as absent.
func (textsKind) Parse(_ *Column, raw []byte, _ ParseOptions) (any, string) {
	var entries []*string // pointers, to detect null
	if raw[0] != '[' || json.Unmarshal(raw, &entries) != nil || slices.Contains(entries, nil) {
		return nil, "must be a list of strings"
	}
	if !utf8.Valid(raw) { // json.Unmarshal replaces invalid bytes with U+FFFD and reports no error
		return nil, entryRule
	}
	if len(entries) == 0 {
		return nil, ""
	}
	texts := make([]string, len(entries))
	for i, text := range entries {
		texts[i] = *text
	}
	return texts, ""
}

const entryRule = "each entry must be a text of 1 to 255 characters"

func (textsKind) Check(c *Column, value any) string {
	maxLength := c.MaxLength
	if maxLength == 0 {
		maxLength = MaxList
	}
	texts := value.([]string)
	if len(texts) > maxLength {
		return "has more than " + strconv.Itoa(maxLength) + " entries"
	}
	for _, text := range texts {
		if textProblem(text) != "" || utf8.RuneCountInString(text) > MaxText {
			return entryRule
		}
	}
	return ""
}

func (textsKind) AppendStored(_ *Column, dst []byte, value any) []byte {
	for _, text := range value.([]string) {
		dst = AppendBytes(dst, text)
	}
	return dst
}

func (textsKind) ReadStored(_ *Column, stored []byte) (any, bool) {
	var texts []string
	for len(stored) > 0 {
		text, rest, ok := CutBytes(stored)
		if !ok {
			return nil, false
		}
		texts, stored = append(texts, string(text)), rest
	}
	return texts, true
}

func (textsKind) AppendJSON(_ *Column, dst []byte, value any, _ Style) []byte {
	dst = append(dst, '[')
	for _, text := range value.([]string) {
		dst = AppendText(appendComma(dst), text)
	}
	return append(dst, ']')
}

// Shape implements Shaped.
func (textsKind) Shape() Shape { return TextList }

func (textsKind) Empty(value any) bool { return len(value.([]string)) == 0 }

// verbatim implements a part of Kind for JSON documents that are stored and shown exactly as they were sent.
type verbatim struct{}

func (verbatim) AppendStored(_ *Column, dst []byte, value any) []byte {
	return append(dst, value.([]byte)...)
}

func (verbatim) ReadStored(_ *Column, stored []byte) (any, bool) { return slices.Clone(stored), true }

func (verbatim) AppendJSON(_ *Column, dst []byte, value any, _ Style) []byte {
	return append(dst, orEmptyObject(value.([]byte))...)
}

// Shape implements Shaped.
func (verbatim) Shape() Shape { return Document }

func (verbatim) Empty(value any) bool { return isEmptyObject(orEmptyObject(value.([]byte))) }

func orEmptyObject(document []byte) []byte {
	if len(document) == 0 {
		return []byte("{}")
	}
	return document
}

// isEmptyObject tells whether a document is an object without members.
func isEmptyObject(document []byte) bool {
	if document[0] != '{' {
		return false
	}
	for _, c := range document[1:] {
		switch c {
		case ' ', '\t', '\n', '\r':
		default:
			return c == '}'
		}
	}
	return false
}

type objectKind struct {
	verbatim
	Unbounded
}

func (objectKind) String() string { return "object" }

func (objectKind) Parse(_ *Column, raw []byte, _ ParseOptions) (any, string) {
	if raw[0] != '{' || len(raw) > MaxObject {
		return nil, "must be an object of at most 64 KiB"
	}
	return raw, ""
}

type listKind struct {
	verbatim
	Unbounded
}

func (listKind) String() string { return "list" }

// Parse implements Kind. It returns the list as it was sent, byte for byte.
func (listKind) Parse(_ *Column, raw []byte, _ ParseOptions) (any, string) {
	var entries []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &entries) != nil || len(raw) > MaxObject {
		return nil, "must be a list of at most 64 KiB"
	}
	if len(entries) == 0 {
		return nil, "must not be empty"
	}
	for _, entry := range entries {
		if !isTextOrObject(entry) {
			return nil, "each entry must be a text of 1 to " + strconv.Itoa(MaxText) + " characters, or an object that is not empty"
		}
	}
	return raw, ""
}

// isTextOrObject tells whether an entry of a list is a non-blank text of at most MaxText characters, or an object with members.
func isTextOrObject(entry []byte) bool {
	var text string
	var members map[string]json.RawMessage
	switch entry[0] {
	case '"':
		return utf8.Valid(entry) && json.Unmarshal(entry, &text) == nil && textProblem(text) == "" && utf8.RuneCountInString(text) <= MaxText
	case '{':
		return json.Unmarshal(entry, &members) == nil && len(members) > 0
	}
	return false
}

type rowsKind struct{ Unbounded }

func (rowsKind) String() string { return "rows" }

// Parse implements Kind. In a Single column, a request sets one row by sending it as an object. The rows of other columns
// cannot be set by requests.
func (rowsKind) Parse(c *Column, raw []byte, options ParseOptions) (any, string) {
	if !c.Single {
		return nil, "cannot be set"
	}
	row, problem := c.ReadMembers(raw, options)
	if problem != "" {
		return nil, problem
	}
	return []Row{row}, ""
}

func (rowsKind) AppendStored(c *Column, dst []byte, value any) []byte {
	for _, row := range value.([]Row) {
		dst = AppendBytes(dst, c.Nested.AppendStored(nil, row))
	}
	return dst
}

func (rowsKind) ReadStored(c *Column, stored []byte) (any, bool) {
	rows := []Row{}
	for len(stored) > 0 {
		encoded, rest, ok := CutBytes(stored)
		if !ok {
			return nil, false
		}
		row, err := c.Nested.ReadStored(encoded)
		if err != nil {
			return nil, false
		}
		rows, stored = append(rows, row), rest
	}
	return rows, true
}

func (rowsKind) AppendJSON(c *Column, dst []byte, value any, style Style) []byte {
	rows := value.([]Row)
	if c.Single {
		return c.Nested.appendObject(dst, rows[0], style)
	}
	dst = append(dst, '[')
	for _, row := range rows {
		dst = c.Nested.appendObject(appendComma(dst), row, style)
	}
	return append(dst, ']')
}

// Shape implements Shaped.
func (rowsKind) Shape() Shape { return Document }

func (rowsKind) Empty(value any) bool { return len(value.([]Row)) == 0 }
