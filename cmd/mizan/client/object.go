package client

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json/jsontext"
)

// Object is a JSON object whose members are in the server's order.
type Object struct {
	Raw     jsontext.Value
	Members []Member
}

// Member is a member of a JSON object.
type Member struct {
	Name  string
	Value jsontext.Value
}

// ParseObject parses a JSON object. The result keeps no reference to raw.
func ParseObject(raw []byte) (Object, error) {
	object := Object{Raw: bytes.Clone(raw)}
	if err := object.Raw.Compact(); err != nil {
		return Object{}, errors.New("no JSON")
	}
	decoder := jsontext.NewDecoder(bytes.NewReader(object.Raw))
	if start, err := decoder.ReadToken(); err != nil || start.Kind() != '{' {
		return Object{}, errors.New("no JSON object")
	}
	for decoder.PeekKind() == '"' {
		name, err := decoder.ReadToken()
		if err != nil {
			return Object{}, err
		}
		member := Member{Name: name.String()}
		value, err := decoder.ReadValue()
		if err != nil {
			return Object{}, err
		}
		member.Value = value.Clone()
		object.Members = append(object.Members, member)
	}
	return object, nil
}

// Value returns a member's value. A name with a dot, such as amount.default, means the member default of the member
// amount.
func (o *Object) Value(name string) (jsontext.Value, bool) {
	outer, inner, isNested := strings.Cut(name, ".")
	for _, m := range o.Members {
		switch {
		case m.Name != outer:
		case !isNested:
			return m.Value, true
		default:
			nested, err := ParseObject(m.Value)
			if err != nil {
				return nil, false
			}
			return nested.Value(inner)
		}
	}
	return nil, false
}

// AbsentValue is what tables show for a value that is absent, null or empty.
const AbsentValue = "-"

// FormatValue formats a JSON value for people.
func FormatValue(value jsontext.Value) string {
	text := value.String()
	switch value.Kind() {
	case '"':
		unquoted, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return Printable(text)
		}
		text = string(unquoted)
	case '[':
		if list, isSimple := FormatScalars(value); isSimple {
			text = strings.Join(list, ",")
		}
	case 'n', 0:
		text = ""
	}
	if text == "" {
		return AbsentValue
	}
	return Printable(text)
}

// FormatScalars formats the elements of a list; isSimple is false if an element is a list or an object.
func FormatScalars(list jsontext.Value) (elements []string, isSimple bool) {
	decoder := jsontext.NewDecoder(bytes.NewReader(list))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, false
	}
	for decoder.PeekKind() != ']' {
		value, err := decoder.ReadValue()
		if err != nil || value.Kind() == '[' || value.Kind() == '{' {
			return nil, false
		}
		elements = append(elements, FormatValue(value))
	}
	return elements, true
}

// tableBlock is the number of rows that a table keeps in memory to align its columns.
const tableBlock = 10_000

// printer prints objects to stdout: as JSON, one in each line, or as a table.
type printer struct {
	asJSON   bool
	columns  []string // the members that the table of a list shows, as Object.Value names them
	out      *bufio.Writer
	table    *tabwriter.Writer
	rowCount int
}

func (c *Command) newPrinter(columns []string) *printer {
	out := bufio.NewWriter(c.Streams.Out)
	return &printer{asJSON: c.JSON, columns: columns, out: out, table: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
}

// printObject prints a single object, one line for each member.
func (p *printer) printObject(o Object) {
	if p.asJSON {
		p.writeLine(o)
		return
	}
	for _, m := range o.Members {
		p.writeCells(Printable(m.Name), FormatValue(m.Value))
	}
}

// printRow prints an object of a list, with the members that the table shows. Errors of writing are returned
// by flush.
func (p *printer) printRow(o Object) {
	if p.asJSON {
		p.writeLine(o)
		return
	}
	if p.rowCount == 0 {
		p.writeCells(strings.Split(strings.ToUpper(strings.Join(p.columns, " ")), " ")...)
	}
	cells := make([]string, len(p.columns))
	for i, name := range p.columns {
		value, _ := o.Value(name)
		cells[i] = FormatValue(value)
	}
	p.writeCells(cells...)
	if p.rowCount++; p.rowCount%tableBlock == 0 {
		_ = p.table.Flush()
	}
}

func (p *printer) writeLine(o Object) {
	_, _ = p.out.Write(o.Raw)
	_ = p.out.WriteByte('\n')
}

func (p *printer) writeCells(cells ...string) {
	_, _ = p.table.Write([]byte(strings.Join(cells, "\t") + "\n"))
}

// flush flushes the output and returns the first error of writing.
func (p *printer) flush() error {
	if err := p.table.Flush(); err != nil {
		return err
	}
	return p.out.Flush()
}
