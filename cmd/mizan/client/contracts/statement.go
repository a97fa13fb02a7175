package contracts

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mizan/cmd/mizan/client"
	"mizan/ledger/contract"
	"mizan/ledger/schema"
)

// textTable holds the cells of a table and the set of columns that are aligned to the right.
type textTable struct {
	alignRight map[int]bool
	rows       [][]string
}

func (t *textTable) addRow(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the table with an indent and with two spaces between the aligned columns.
func (t *textTable) write(out *bytes.Buffer, indent string) {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range t.rows {
		var line strings.Builder
		for i, cell := range row {
			gap := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if t.alignRight[i] {
				line.WriteString(gap + cell)
			} else {
				line.WriteString(cell + gap)
			}
			line.WriteString("  ")
		}
		out.WriteString(strings.TrimRight(indent+line.String(), " ") + "\n")
	}
}

// headerMembers are the members of a contract that the statement's record leaves out: the members that the header shows, and
// the organization's id.
var headerMembers = wordSet("id product_type organization_id contract_number status env currency")

// writeStatement prints a contract for people: a header, the record, a table for each list in the record (such as the
// schedule), and the entries. An error means that the response is malformed.
func writeStatement(out *bytes.Buffer, path string, record client.Object, entries []entry) error {
	currency := memberText(&record, "currency")
	segments := strings.Split(strings.Trim(path, "/"), "/")
	_, _ = fmt.Fprintf(out, "%s  %s  %s\n", memberText(&record, "contract_number"), segments[len(segments)-2], memberText(&record, "status"))
	_, _ = fmt.Fprintf(out, "%s  env %s  amounts in %s, and beside them in minor units: 1 %s = %d\n\n",
		memberText(&record, "id"), memberText(&record, "env"), currency, currency, powerOfTen(Decimals(currency)))
	out.WriteString("RECORD\n")
	recordTable := &textTable{alignRight: map[int]bool{1: true, 2: true}}
	var tables []client.Member
	for _, m := range record.Members {
		if headerMembers[m.Name] {
			continue
		}
		appendTo := appendMember
		if m.Name == "metadata" && m.Value.Kind() == '{' {
			appendTo = serviceKeysOf[segments[len(segments)-2]].appendMetadata
		}
		nested, err := appendTo(recordTable, m, currency)
		if err != nil {
			return err
		}
		tables = append(tables, nested...)
	}
	writeRecord(out, recordTable)
	for _, table := range tables {
		if err := writeRows(out, table, currency); err != nil {
			return err
		}
	}
	writeEntries(out, entries)
	return nil
}

func powerOfTen(digits int) int {
	n := 1
	for range digits {
		n *= 10
	}
	return n
}

func memberText(object *client.Object, name string) string {
	value, _ := object.Value(name)
	return client.FormatValue(value)
}

// unquote returns a JSON value without its quotes, for example an amount's digits.
func unquote(value jsontext.Value) string {
	if value.Kind() == '"' {
		text, err := jsontext.AppendUnquote(nil, value)
		if err == nil {
			return string(text)
		}
	}
	return value.String()
}

// appendMember adds a member to the record's table. A member that is a list of rows is returned instead, because it becomes a
// separate table.
func appendMember(table *textTable, member client.Member, currency string) (tables []client.Member, err error) {
	switch kind := member.Value.Kind(); {
	case kind == '[':
		if _, isScalarList := client.FormatScalars(member.Value); !isScalarList {
			return []client.Member{member}, nil
		}
		if listed := client.FormatValue(member.Value); listed != client.AbsentValue {
			table.addRow(client.Printable(member.Name), "", "", listed)
		}
	case kind == '{':
		inner, err := client.ParseObject(member.Value)
		if err != nil {
			return nil, err
		}
		for _, part := range inner.Members {
			part.Name = member.Name + "." + part.Name
			nested, err := appendMember(table, part, currency)
			if err != nil {
				return nil, err
			}
			tables = append(tables, nested...)
		}
	case kind == 'n':
	case isAmount(member):
		table.addRow(client.Printable(member.Name), majorUnits(unquote(member.Value), currency), unquote(member.Value), "")
	default:
		table.addRow(client.Printable(member.Name), "", "", client.FormatValue(member.Value))
	}
	return tables, nil
}

// serviceKeys describes the metadata that the service itself writes into the contracts of a product. It maps each key to the
// names of the members of the key's value. A key whose value is a text has no names.
type serviceKeys map[string]map[string]bool

// serviceKeysOf maps the name of a product in URL paths to the metadata keys that the service writes for this product.
var serviceKeysOf = func() map[string]serviceKeys {
	byProduct := make(map[string]serviceKeys)
	for _, p := range contract.Products {
		keys := make(serviceKeys)
		for _, c := range p.Columns.Columns {
			switch {
			case c.Visibility != schema.Metadata:
			case c.Nested == nil:
				keys[c.Name] = nil
			default:
				keys[c.Name] = make(map[string]bool)
				for _, member := range c.Nested.Columns {
					keys[c.Name][member.Name] = true
				}
			}
		}
		for _, variant := range p.Variants {
			byProduct[variant.Name] = keys
		}
	}
	return byProduct
}()

// appendMetadata adds the metadata of a contract to the table. Keys that the service has written are formatted like other
// members. Keys that clients have sent are added as plain JSON, because only the client knows their meaning.
func (keys serviceKeys) appendMetadata(table *textTable, metadata client.Member, currency string) (tables []client.Member, err error) {
	inner, err := client.ParseObject(metadata.Value)
	if err != nil {
		return nil, err
	}
	for _, part := range inner.Members {
		name := metadata.Name + "." + part.Name
		if !keys.isFromService(part) {
			table.addRow(client.Printable(name), "", "", client.Printable(string(part.Value)))
			continue
		}
		nested, err := appendMember(table, client.Member{Name: name, Value: part.Value}, currency)
		if err != nil {
			return nil, err
		}
		tables = append(tables, nested...)
	}
	return tables, nil
}

// isFromService tells whether the service wrote a member of the metadata. It checks the member's name and form. The name is not
// enough: a client may send a member with the same name before the service writes it.
func (keys serviceKeys) isFromService(part client.Member) bool {
	memberNames, isServiceKey := keys[part.Name]
	if !isServiceKey || memberNames == nil {
		return isServiceKey && part.Value.Kind() == '"'
	}
	rows := []client.Object{{}}
	var err error
	switch part.Value.Kind() {
	case '{':
		rows[0], err = client.ParseObject(part.Value)
	case '[':
		rows, err = parseRows(part.Value)
	default:
		return false
	}
	for _, row := range rows {
		for _, m := range row.Members {
			isKnown := memberNames[m.Name] && (m.Value.Kind() == '"' || m.Value.Kind() == '0')
			if !isKnown {
				return false
			}
		}
		if row.Members == nil {
			return false
		}
	}
	return err == nil
}

// arbitraryJSON are the members of contracts, besides metadata, that may contain any JSON from a client.
var arbitraryJSON = func() map[string]bool {
	names := make(map[string]bool)
	for _, p := range contract.Products {
		for _, c := range p.Columns.Columns {
			if (c.Kind == schema.KindObject || c.Kind == schema.KindList) && c != contract.ClientMetadata.Column {
				names[c.Name] = true
			}
		}
	}
	return names
}()

// holdsAmounts tells whether the member with this name may contain amounts of the contract.
func holdsAmounts(name string) bool {
	topLevel, _, _ := strings.Cut(name, ".")
	return !arbitraryJSON[topLevel]
}

// isAmount tells whether a member is an amount. The member's name is its whole path inside the contract.
func isAmount(m client.Member) bool {
	parent, last := "", m.Name
	if dot := strings.LastIndexByte(m.Name, '.'); dot >= 0 {
		parent, last = m.Name[:dot], m.Name[dot+1:]
	}
	digits := strings.TrimPrefix(unquote(m.Value), "-")
	return IsAmount(last) && holdsAmounts(parent) && digits != "" && strings.Trim(digits, "0123456789") == ""
}

// writeRecord prints a table whose rows consist of a name, an amount in major units, the amount in minor units, and a text.
// Amounts and texts share one printed column, and amounts are aligned at the decimal point.
func writeRecord(out *bytes.Buffer, table *textTable) {
	values := &textTable{}
	width := 0
	for _, row := range table.rows {
		width = max(width, utf8.RuneCountInString(row[1]))
	}
	for _, row := range table.rows {
		if row[3] != "" {
			values.addRow(row[0], row[3])
			continue
		}
		gap := strings.Repeat(" ", width-utf8.RuneCountInString(row[1]))
		values.addRow(row[0], gap+row[1]+"  ("+row[2]+")")
	}
	values.write(out, "  ")
}

// writeRows prints a list as a table. Each amount takes two columns, one in major units and one in minor units. Rows may omit
// empty members, so the table has a column for every member of any row. An element that is not an object is printed in the
// first column.
func writeRows(out *bytes.Buffer, list client.Member, currency string) error {
	rows, err := parseRows(list.Value)
	if err != nil {
		return err
	}
	var names, header []string
	table := &textTable{alignRight: make(map[int]bool)}
	isAmountColumn := func(name string) bool { return IsAmount(name) && holdsAmounts(list.Name) }
	for _, row := range rows {
		for _, m := range row.Members {
			if slices.Contains(names, m.Name) {
				continue
			}
			names = append(names, m.Name)
			header = append(header, client.Printable(m.Name))
			if isAmountColumn(m.Name) {
				table.alignRight[len(header)-1], table.alignRight[len(header)] = true, true
				header = append(header, "(minor)")
			}
		}
	}
	if len(header) > 0 {
		table.addRow(header...)
	}
	for _, row := range rows {
		if row.Members == nil {
			table.addRow(client.FormatValue(row.Raw))
			continue
		}
		var cells []string
		for _, name := range names {
			value, _ := row.Value(name)
			switch {
			case !isAmountColumn(name):
				cells = append(cells, client.FormatValue(value))
			case client.FormatValue(value) == client.AbsentValue:
				cells = append(cells, client.AbsentValue, "")
			default:
				cells = append(cells, majorUnits(unquote(value), currency), unquote(value))
			}
		}
		table.addRow(cells...)
	}
	out.WriteString("\n" + strings.ToUpper(strings.ReplaceAll(client.Printable(list.Name), "_", " ")) + "\n")
	table.write(out, "  ")
	return nil
}

// parseRows returns the elements of a list. If an element is not an object, it has no members.
func parseRows(list jsontext.Value) (rows []client.Object, err error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(list))
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	for decoder.PeekKind() != ']' {
		value, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		row := client.Object{Raw: value.Clone()}
		if value.Kind() == '{' {
			if row, err = client.ParseObject(value); err != nil {
				return nil, err
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// writeEntries prints the contract's entries, one line for each posting.
func writeEntries(out *bytes.Buffer, entries []entry) {
	out.WriteString("\nENTRIES\n")
	if len(entries) == 0 {
		out.WriteString("  none\n")
		return
	}
	table := &textTable{alignRight: map[int]bool{4: true, 5: true, 6: true}}
	table.addRow("date", "seq", "event", "account", "debit", "credit", "(minor)")
	for _, e := range entries {
		date, seq, event := client.Printable(e.Date), client.Printable(e.Seq.String()), client.Printable(e.Event)
		for _, p := range e.Postings {
			amount := majorUnits(p.Amount, p.Asset.Currency)
			debit, credit := amount, ""
			if p.Side != "debit" {
				debit, credit = "", amount
			}
			table.addRow(date, seq, event, client.Printable(p.Account), debit, credit, client.Printable(p.Amount))
			date, seq, event = "", "", ""
		}
	}
	table.write(out, "  ")
}
