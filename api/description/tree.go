package description

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"mizan/internal/assert"
	"mizan/ledger/schema"
)

// Object is a JSON object whose members have an order. A member's value is an Object, a list ([]any or
// []string), a string, a bool, an int, an int64, a Number or nil.
type Object []Member

// Member is a member of an Object.
type Member struct {
	Name  string
	Value any
}

// Number is the text of a JSON number.
type Number string

// Add adds a member.
func (t *Object) Add(name string, value any) { *t = append(*t, Member{name, value}) }

// AddText adds a member whose value is a text. If the text is empty, nothing is added.
func (t *Object) AddText(name, text string) {
	if text != "" {
		t.Add(name, text)
	}
}

// Get returns the value of the member with the given name, or nil if there is no such member.
func (t Object) Get(name string) any {
	for _, branch := range t {
		if branch.Name == name {
			return branch.Value
		}
	}
	return nil
}

// AppendJSON appends an Object, or a value that an Object can contain, as JSON.
func AppendJSON(dst []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(dst, "null"...)
	case Object:
		dst = append(dst, '{')
		for i, branch := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(append(schema.AppendText(dst, branch.Name), ':'), branch.Value)
		}
		return append(dst, '}')
	case []any:
		dst = append(dst, '[')
		for i, entry := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = AppendJSON(dst, entry)
		}
		return append(dst, ']')
	case []string:
		return AppendJSON(dst, anyOf(v))
	case string:
		return schema.AppendText(dst, v)
	case bool:
		return strconv.AppendBool(dst, v)
	case int:
		return strconv.AppendInt(dst, int64(v), 10)
	case int64:
		return strconv.AppendInt(dst, v, 10)
	case Number:
		return append(dst, v...)
	}
	assert.That(false, "description: a value of type %T", value)
	return dst
}

func anyOf(texts []string) []any {
	list := make([]any, len(texts))
	for i, text := range texts {
		list[i] = text
	}
	return list
}

// ParseJSON parses a JSON text. The result is a value that an Object can contain. Objects keep the order of
// their members.
func ParseJSON(text []byte) (any, error) {
	return readValue(jsontext.NewDecoder(bytes.NewReader(text)))
}

func readValue(d *jsontext.Decoder) (any, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		object := Object{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			text := name.String()
			value, err := readValue(d)
			if err != nil {
				return nil, err
			}
			object.Add(text, value)
		}
		_, err = d.ReadToken()
		return object, err
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			value, err := readValue(d)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = d.ReadToken()
		return list, err
	case '"':
		return token.String(), nil
	case '0':
		return Number(token.String()), nil
	case 't', 'f':
		return token.Bool(), nil
	}
	return nil, nil
}
