package admin

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of values that come from files.
const (
	maxSecret   = 4096
	maxDocument = 1 << 20
)

// id is a UUID on the command line.
type id string

// Validate is called by kong.
func (i id) Validate() error {
	if !isID(string(i)) {
		return fmt.Errorf("%q is not a UUID", string(i))
	}
	return nil
}

// number is a partner's id on the command line.
type number int64

// Validate is called by kong.
func (n number) Validate() error {
	if n < 1 {
		return errors.New("a partner's id is above zero")
	}
	return nil
}

// address is a URL on the command line, or the word null, which takes one away: an
// empty value may be a variable of the shell that is not set, and the server refuses it.
type address string

// MarshalJSON implements json.Marshaler.
func (a address) MarshalJSON() ([]byte, error) {
	if a == "null" {
		return []byte("null"), nil
	}
	return json.Marshal(string(a))
}

// list is a flag that may be repeated; one empty value alone makes an empty list.
type list []string

// of is the list as the server takes it; nil: it was not given.
func (l list) of() []string {
	if len(l) == 1 && l[0] == "" {
		return []string{}
	}
	return l
}

// MarshalJSON implements json.Marshaler.
func (l list) MarshalJSON() ([]byte, error) { return json.Marshal(l.of()) }

// secret is text that must not be on the command line: the flag names a file, or
// stdin with "-". One line break at the end is not part of it.
type secret struct{ text string }

// Decode implements kong.MapperValue.
func (s *secret) Decode(ctx *kong.DecodeContext) error {
	var path string
	if err := ctx.Scan.PopValueInto("file", &path); err != nil {
		return err
	}
	content, err := contentOf(path, maxSecret)
	if err != nil {
		return err
	}
	s.text = strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	if s.text == "" {
		return fmt.Errorf("%s is empty", path)
	}
	return nil
}

// MarshalJSON implements json.Marshaler: the server is to have it.
func (s secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.text) }

// String keeps the text out of what is printed.
func (secret) String() string { return "(hidden)" }

// document is a JSON value of the command line, or of a file with "@FILE" ("@-"
// is stdin).
type document struct{ value jsontext.Value }

// Decode implements kong.MapperValue. Errors don't quote the value: it may hold
// a provider's credentials.
func (d *document) Decode(ctx *kong.DecodeContext) error {
	var said string
	if err := ctx.Scan.PopValueInto("JSON", &said); err != nil {
		return err
	}
	content := []byte(said)
	if path, named := strings.CutPrefix(said, "@"); named {
		var err error
		if content, err = contentOf(path, maxDocument); err != nil {
			return err
		}
	}
	d.value = content
	if !d.value.IsValid() {
		return errors.New("is not JSON")
	}
	return nil
}

// MarshalJSON implements json.Marshaler.
func (d document) MarshalJSON() ([]byte, error) { return d.value, nil }

// String keeps the value out of what is printed.
func (document) String() string { return "(hidden)" }
