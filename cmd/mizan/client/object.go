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

type Member struct {
	Name  string
	Value jsontext.Value
}

// ParseObject parses an object. It keeps no reference to raw.
func ParseObject(raw []byte) (Object, error) {
	r := Object{Raw: bytes.Clone(raw)}
	if err := r.Raw.Compact(); err != nil {
		return Object{}, errors.New("no JSON")
	}
	d := jsontext.NewDecoder(bytes.NewReader(r.Raw))
	if start, err := d.ReadToken(); err != nil || start.Kind() != '{' {
		return Object{}, errors.New("no JSON object")
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return Object{}, err
		}
		m := Member{Name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return Object{}, err
		}
		m.Value = value.Clone()
		r.Members = append(r.Members, m)
	}
	return r, nil
}

// Value returns a member's value.
func (o *Object) Value(name string) (jsontext.Value, bool) {
	for _, m := range o.Members {
		if m.Name == name {
			return m.Value, true
		}
	}
	return nil, false
}

// AbsentValue is what tables show for a value that is absent, null or empty.
const AbsentValue = "-"

// Text formats a JSON value for people.
func Text(value jsontext.Value) string {
	text := value.String()
	switch value.Kind() {
	case '"':
		unquoted, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return Printable(text)
		}
		text = string(unquoted)
	case '[':
		if list, simple := Scalars(value); simple {
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

// Scalars returns the elements of a list; simple is false if one of them is a list or an
// object.
func Scalars(list jsontext.Value) (elements []string, simple bool) {
	d := jsontext.NewDecoder(bytes.NewReader(list))
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil || value.Kind() == '[' || value.Kind() == '{' {
			return nil, false
		}
		elements = append(elements, Text(value))
	}
	return elements, true
}

// tableBlock is the number of rows that a table keeps in memory to align its columns.
const tableBlock = 10_000

// printer prints objects to stdout: as JSON, one in each line, or as a table.
type printer struct {
	json    bool
	columns []string
	out     *bufio.Writer
	table   *tabwriter.Writer
	rows    int
}

func (c *Command) newPrinter(columns []string) *printer {
	out := bufio.NewWriter(c.Streams.Out)
	return &printer{json: c.JSON, columns: columns, out: out, table: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
}

// printObject prints a single object, one line for each member.
func (p *printer) printObject(o Object) {
	if p.json {
		p.writeLine(o)
		return
	}
	for _, m := range o.Members {
		p.writeCells(Printable(m.Name), Text(m.Value))
	}
}

// printRow prints an object of a list, with the members that the table shows. Errors of writing are returned
// by flush.
func (p *printer) printRow(o Object) {
	if p.json {
		p.writeLine(o)
		return
	}
	if p.rows == 0 {
		p.writeCells(strings.Split(strings.ToUpper(strings.Join(p.columns, " ")), " ")...)
	}
	cells := make([]string, len(p.columns))
	for i, name := range p.columns {
		value, _ := o.Value(name)
		cells[i] = Text(value)
	}
	p.writeCells(cells...)
	if p.rows++; p.rows%tableBlock == 0 {
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

// flush flushes the output. Its error is the stream's first one.
func (p *printer) flush() error {
	if err := p.table.Flush(); err != nil {
		return err
	}
	return p.out.Flush()
}
