package client

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Maximum sizes in bytes of values that are read from files.
const (
	maxSecret   = 4096
	maxDocument = 1 << 20
)

// ID is a UUID on the command line.
type ID string

// Validate checks that the value is a UUID. kong, the command-line parser, calls it.
func (i ID) Validate() error {
	if !isID(string(i)) {
		return fmt.Errorf("%q is not a UUID", string(i))
	}
	return nil
}

// PartnerNumber is a partner's id on the command line.
type PartnerNumber int64

// Validate checks that the id is positive. kong calls it.
func (n PartnerNumber) Validate() error {
	if n < 1 {
		return errors.New("a partner's id is above zero")
	}
	return nil
}

// NullText is a text on the command line. The word null removes the stored value. An empty text is not the same as null. The
// server refuses an empty text, because it may come from an unset variable of the shell.
type NullText string

// MarshalJSON implements json.Marshaler.
func (t NullText) MarshalJSON() ([]byte, error) {
	if t == "null" {
		return []byte("null"), nil
	}
	return json.Marshal(string(t))
}

// StringList holds the values of a flag that may be repeated. A single empty value stands for an empty list.
type StringList []string

// Strings returns the list to send to the server, or nil if the flag was not given.
func (l StringList) Strings() []string {
	if len(l) == 1 && l[0] == "" {
		return []string{}
	}
	return l
}

// MarshalJSON implements json.Marshaler.
func (l StringList) MarshalJSON() ([]byte, error) { return json.Marshal(l.Strings()) }

// Secret is a text that must not appear on the command line. The flag's value is the name of a file that contains the text, or
// "-" for stdin. One line break at the end of the text is removed.
type Secret struct{ Text string }

// Decode implements kong.MapperValue.
func (s *Secret) Decode(ctx *kong.DecodeContext) error {
	var path string
	if err := ctx.Scan.PopValueInto("file", &path); err != nil {
		return err
	}
	content, err := readFile(path, maxSecret)
	if err != nil {
		return err
	}
	s.Text = strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), "\r")
	if s.Text == "" {
		return fmt.Errorf("%s is empty", path)
	}
	return nil
}

// MarshalJSON implements json.Marshaler. It does not hide the text, because the server needs it.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.Text) }

// String returns a placeholder, so that the text is never printed.
func (Secret) String() string { return "(hidden)" }

// Number is a whole number of any size that is not negative. The word null removes the stored value.
type Number string

// Decode implements kong.MapperValue.
func (n *Number) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("N", &text); err != nil {
		return err
	}
	if text != "null" && (text == "" || strings.Trim(text, "0123456789") != "" || text[0] == '0' && text != "0") {
		return errors.New("is not a whole number")
	}
	*n = Number(text)
	return nil
}

// MarshalJSON implements json.Marshaler.
func (n Number) MarshalJSON() ([]byte, error) { return []byte(n), nil }

// Document is a JSON value. The value is given on the command line or in a file, as "@FILE" ("@-" is stdin).
type Document struct{ value jsontext.Value }

// Decode implements kong.MapperValue. Errors don't quote the value, because it may contain a
// provider's credentials.
func (d *Document) Decode(ctx *kong.DecodeContext) error {
	var text string
	if err := ctx.Scan.PopValueInto("JSON", &text); err != nil {
		return err
	}
	content := []byte(text)
	if path, isFile := strings.CutPrefix(text, "@"); isFile {
		var err error
		if content, err = readFile(path, maxDocument); err != nil {
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
func (d Document) MarshalJSON() ([]byte, error) { return d.value, nil }

// String returns a placeholder, so that the value is never printed.
func (Document) String() string { return "(hidden)" }
