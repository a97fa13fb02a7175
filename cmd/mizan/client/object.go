package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mattn/go-runewidth"
)

// Object is a JSON object. Its members are in the order in which the server sent them.
type Object struct {
	Raw     jsontext.Value
	Members []Member
}

// Member is a member of a JSON object.
type Member struct {
	Name  string
	Value jsontext.Value
}

// ParseObject parses a JSON object. The caller may change raw afterwards.
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

// NewObject returns an object whose members are strings. The arguments are the name and the text of the first member, the name
// and the text of the second member, and so on.
func NewObject(namesAndTexts ...string) (Object, error) {
	raw := []byte("{")
	for i, text := range namesAndTexts {
		switch {
		case i%2 == 1:
			raw = append(raw, ':')
		case i > 0:
			raw = append(raw, ',')
		}
		var err error
		if raw, err = jsontext.AppendQuote(raw, text); err != nil {
			return Object{}, err
		}
	}
	return ParseObject(append(raw, '}'))
}

// Value returns the value of a member. A name with a dot names a member of an inner object: amount.default is the member
// default of the object amount.
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

// AbsentValue is the text that is printed for a value that is absent, null or empty.
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

// FormatScalars formats the elements of a JSON list. If an element is itself a list or an object, isSimple is false.
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

// printer prints objects to stdout, as JSON with one object in each line, or as a table.
type printer struct {
	asJSON   bool
	around   []Object // objects that name the asset of amounts without an asset, as if they enclosed each printed object
	names    []string // members that the table of a list shows, named as for Object.Value
	expand   func(Object) []Object
	out      *bufio.Writer
	table    *Table // nil for a single object
	rowCount int
	values   [][2]string // names and values of a single object
}

func (c *Command) newPrinter(listing *Listing) *printer {
	p := &printer{asJSON: c.JSON, out: bufio.NewWriter(c.Streams.Out)}
	if listing == nil || c.JSON {
		return p
	}
	p.names, p.around, p.expand = listing.Columns, listing.Around, listing.Expand
	columns := make([]Column, len(p.names))
	for i, name := range p.names {
		outer, inner, isNested := strings.Cut(name, ".")
		if !isNested {
			outer, inner = "", name
		}
		heading := name
		if title, has := listing.Headings[name]; has {
			heading = title
		}
		columns[i] = Column{
			Name: strings.ToUpper(heading), Right: isAmount(outer, inner), Rank: slices.Index(listing.OmitOrder, name) + 1,
		}
		if columns[i].Rank > 0 {
			columns[i].Rank = len(listing.OmitOrder) + 1 - columns[i].Rank
		}
	}
	p.table = NewTable(p.out, TerminalWidth(c.Streams.Out), columns)
	return p
}

// maxDepth is the number of nested levels of a single object at which each member is printed on its own line. Objects below
// these levels are printed as JSON.
const maxDepth = 4

// printObject prints a single object, one line for each member. Members of inner objects have names such as
// amount.default and refunds[0].amount.
func (p *printer) printObject(o Object) {
	if p.asJSON {
		p.writeLine(o)
		return
	}
	p.addMembers("", "", o, p.around, 1)
	width := 0
	for _, value := range p.values {
		width = max(width, runewidth.StringWidth(value[0]))
	}
	for _, value := range p.values {
		_, _ = p.out.WriteString(value[0] + strings.Repeat(" ", width+columnGap-runewidth.StringWidth(value[0])) + value[1] + "\n")
	}
}

// addMembers adds a line for each member of the object o. prefix is printed before the names of the members. outer is the name
// of the member whose value is o. around contains the objects that enclose o, the innermost first.
func (p *printer) addMembers(prefix, outer string, o Object, around []Object, depth int) {
	objects := append([]Object{o}, around...)
	for _, m := range o.Members {
		p.addValue(prefix+Printable(m.Name), outer, m, objects, depth)
	}
}

func (p *printer) addValue(name, outer string, m Member, objects []Object, depth int) {
	if inner, err := ParseObject(m.Value); err == nil && depth < maxDepth && len(inner.Members) > 0 {
		p.addMembers(name+".", m.Name, inner, objects, depth+1)
		return
	}
	if elements, ok := Objects(m.Value); ok && depth < maxDepth {
		for i, element := range elements {
			p.addMembers(fmt.Sprintf("%s[%d].", name, i), m.Name, element, objects, depth+1)
		}
		return
	}
	p.values = append(p.values, [2]string{name, formatMember(outer, m.Name, m.Value, objects)})
}

// Objects returns the elements of a JSON list of objects. If the value is something else or the list is empty, ok is false.
func Objects(list jsontext.Value) (elements []Object, ok bool) {
	var values []jsontext.Value
	if list.Kind() != '[' || json.Unmarshal(list, &values) != nil || len(values) == 0 {
		return nil, false
	}
	for _, value := range values {
		element, err := ParseObject(value)
		if err != nil {
			return nil, false
		}
		elements = append(elements, element)
	}
	return elements, true
}

// formatMember formats a member for people. An amount is formatted in major units if its asset is known.
func formatMember(outer, name string, value jsontext.Value, objects []Object) string {
	if isAmount(outer, name) {
		if text, ok := majorAmount(name, value, objects); ok {
			return text
		}
	}
	return FormatValue(value)
}

// printRow prints one object of a list. In a table it prints only the members that the table shows. If writing fails, flush
// returns the error.
func (p *printer) printRow(o Object) {
	p.rowCount++
	if p.asJSON {
		p.writeLine(o)
		return
	}
	rows := []Object{o}
	if p.expand != nil {
		rows = p.expand(o)
	}
	for _, row := range rows {
		p.table.Add(p.cells(row)...)
	}
}

// cells returns, for one object, the texts of the members that the table shows.
func (p *printer) cells(o Object) []string {
	cells := make([]string, len(p.names))
	for i, name := range p.names {
		value, _ := o.Value(name)
		objects := append([]Object{o}, p.around...)
		outer, inner, isNested := strings.Cut(name, ".")
		if !isNested {
			outer, inner = "", name
		} else if nested, has := o.Value(outer); has {
			if nestedObject, err := ParseObject(nested); err == nil {
				objects = append([]Object{nestedObject}, objects...)
			}
		}
		cells[i] = formatMember(outer, inner, value, objects)
	}
	return cells
}

func (p *printer) writeLine(o Object) {
	_, _ = p.out.Write(o.Raw)
	_ = p.out.WriteByte('\n')
}

// flush writes the buffered output and returns the first error of writing.
func (p *printer) flush() error {
	if p.table != nil {
		if err := p.table.Flush(); err != nil {
			return err
		}
	}
	return p.out.Flush()
}
