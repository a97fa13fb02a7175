package admin

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
	"text/tabwriter"

	"github.com/go-json-experiment/json/jsontext"
)

// record is a JSON object; its members are in the server's order.
type record struct {
	raw     jsontext.Value
	members []member
}

type member struct {
	name  string
	value jsontext.Value
}

// parseRecord reads an object. It keeps no reference to raw.
func parseRecord(raw []byte) (record, error) {
	r := record{raw: bytes.Clone(raw)}
	if err := r.raw.Compact(); err != nil {
		return record{}, errors.New("no JSON")
	}
	d := jsontext.NewDecoder(bytes.NewReader(r.raw))
	if start, err := d.ReadToken(); err != nil || start.Kind() != '{' {
		return record{}, errors.New("no JSON object")
	}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return record{}, err
		}
		m := member{name: name.String()}
		value, err := d.ReadValue()
		if err != nil {
			return record{}, err
		}
		m.value = value.Clone()
		r.members = append(r.members, m)
	}
	return r, nil
}

// value is a member's value.
func (r *record) value(name string) (jsontext.Value, bool) {
	for _, m := range r.members {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// nothing is how a table shows what is absent, null or empty.
const nothing = "-"

// shown is a value as people read it.
func shown(value jsontext.Value) string {
	text := value.String()
	switch value.Kind() {
	case '"':
		unquoted, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return plain(text)
		}
		text = string(unquoted)
	case '[':
		if list, simple := scalars(value); simple {
			text = strings.Join(list, ",")
		}
	case 'n', 0:
		text = ""
	}
	if text == "" {
		return nothing
	}
	return plain(text)
}

// scalars are the elements of a list that holds no list and no object.
func scalars(list jsontext.Value) (elements []string, simple bool) {
	d := jsontext.NewDecoder(bytes.NewReader(list))
	if _, err := d.ReadToken(); err != nil {
		return nil, false
	}
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil || value.Kind() == '[' || value.Kind() == '{' {
			return nil, false
		}
		elements = append(elements, shown(value))
	}
	return elements, true
}

// tableBlock is after how many rows a table's columns are measured anew: what it
// prints is not kept in memory for ever.
const tableBlock = 10_000

// printer prints things to stdout: a JSON object a line, or a table.
type printer struct {
	json    bool
	columns []string
	out     *bufio.Writer
	table   *tabwriter.Writer
	rows    int
}

func (e *errand) newPrinter(columns []string) *printer {
	out := bufio.NewWriter(e.streams.Out)
	return &printer{json: e.json, columns: columns, out: out, table: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
}

// one prints a thing alone: a line for each of its members.
func (p *printer) one(r record) {
	if p.json {
		p.line(r)
		return
	}
	for _, m := range r.members {
		p.cells(plain(m.name), shown(m.value))
	}
}

// row prints a thing of a list: the members that the list shows. Errors of the
// stream are kept for end.
func (p *printer) row(r record) {
	if p.json {
		p.line(r)
		return
	}
	if p.rows == 0 {
		p.cells(strings.Split(strings.ToUpper(strings.Join(p.columns, " ")), " ")...)
	}
	cells := make([]string, len(p.columns))
	for i, name := range p.columns {
		value, _ := r.value(name)
		cells[i] = shown(value)
	}
	p.cells(cells...)
	if p.rows++; p.rows%tableBlock == 0 {
		_ = p.table.Flush()
	}
}

func (p *printer) line(r record) {
	_, _ = p.out.Write(r.raw)
	_ = p.out.WriteByte('\n')
}

func (p *printer) cells(cells ...string) {
	_, _ = p.table.Write([]byte(strings.Join(cells, "\t") + "\n"))
}

// end prints what is left; the error is the first of the stream.
func (p *printer) end() error {
	if err := p.table.Flush(); err != nil {
		return err
	}
	return p.out.Flush()
}
