package answers

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mizan/ledger/contract"
	"mizan/ledger/schema"
)

// changing lists the columns that a creation may set and a later action may set again. daily
// lists the columns that change from day to day without any event.
var (
	changing = map[*contract.Product][]string{
		contract.Certificate: {"subscription_start", "subscription_end"},
		contract.Lease:       {"asset_serial_number"},
		contract.Deposit:     {"initial_amount", "term_months", "profit_sharing_ratio"},
	}
	daily = map[string]bool{"days_past_due": true}
)

// withoutDefaults returns a column's value in one form for both families of paths: one family
// omits an empty value, and the other shows it as null, "", [] or {}.
func withoutDefaults(c *schema.Column, v jsontext.Value) jsontext.Value {
	switch {
	case isNothing(v):
		return nil
	case c.Kind == schema.KindObject, c.Kind == schema.KindList:
		return v // the service shows it as the client sent it
	case c.Kind == schema.KindRows && v.Kind() == '[':
		return plainRows(c.Of, v)
	case c.Kind == schema.KindRows:
		return plainRow(c.Of, v)
	}
	return v
}

func plainRows(of *schema.Table, v jsontext.Value) jsontext.Value {
	var rows []jsontext.Value
	if json.Unmarshal(v, &rows) != nil {
		return v
	}
	for i := range rows {
		rows[i] = plainRow(of, rows[i])
	}
	return asJSON(rows)
}

func plainRow(of *schema.Table, v jsontext.Value) jsontext.Value {
	row := parseObject(v)
	if row == nil {
		return v
	}
	for name, value := range row {
		if isNothing(value) {
			delete(row, name)
		}
	}
	for _, c := range of.Columns {
		if value, has := row[c.Name]; has && c.Kind == schema.KindRows {
			row[c.Name] = withoutDefaults(c, value)
		}
	}
	return asJSON(row)
}

// isNothing tells whether a value is empty. 0 and false are not empty.
func isNothing(v jsontext.Value) bool {
	switch canonical(v) {
	case "", "null", `""`, "[]", "{}":
		return true
	}
	return false
}

// asJSON encodes a value that was decoded from JSON.
func asJSON(v any) jsontext.Value {
	written, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return written
}

// valueOf returns a column of a stored contract as an answer of its family shows it, without
// defaults; nil if the column is empty.
func valueOf(p *contract.Record, c *schema.Column) jsontext.Value {
	if c == contract.Sent.Column {
		return metadataOf(p)
	}
	return withoutDefaults(c, written(p.Reading, c, c.Value(p.Values)))
}

// metadataOf returns the metadata that the client sent, with the keys that the service adds.
func metadataOf(p *contract.Record) jsontext.Value {
	sent := jsontext.Value(contract.Sent.Of(p.Values))
	own := make(object)
	for _, c := range p.Product.Columns.Columns {
		if value := c.Value(p.Values); c.Place == schema.Metadata && value != nil {
			own[c.Name] = written(p.Reading, c, value)
		}
	}
	if len(own) > 0 {
		all := make(object)
		for name, value := range parseObject(sent) {
			all[name] = value
		}
		for name, value := range own {
			all[name] = value
		}
		return asJSON(all)
	}
	if isNothing(sent) {
		return nil
	}
	return sent
}

// withoutOwn returns metadata as the client sent it, without the keys that the service adds.
func withoutOwn(p *contract.Product, metadata jsontext.Value) jsontext.Value {
	sent := parseObject(metadata)
	for _, c := range p.Columns.Columns {
		if c.Place == schema.Metadata {
			delete(sent, c.Name)
		}
	}
	if len(sent) == 0 {
		return nil
	}
	return asJSON(sent)
}

// written returns a value as answers of the reading's family show it; nil: there is none.
func written(reading *contract.Reading, c *schema.Column, value any) jsontext.Value {
	if value == nil {
		return nil
	}
	return c.Kind.AppendJSON(c, nil, value, reading.Answers)
}
