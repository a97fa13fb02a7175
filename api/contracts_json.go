package api

import (
	contractactor "mizan/actors/contract"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// style is how a family shows contracts.
type style struct {
	texts bool // amounts are strings; else integers, of any size
	bare  bool // what is empty is left out
	named bool // with the product's type and the organization
}

// appendContract appends a contract's fields: all of them, or those of its short form
// where the product has one.
func (f style) appendContract(e *encoder, org ledger.ID, result *contractactor.Result, detail bool) {
	r := result.Record
	e.id("id", r.ID)
	if f.named {
		e.text("product_type", r.Product.Variants[r.Reading].Name)
		e.id("organization_id", org)
	}
	e.text("contract_number", r.Number(result.Stamp.Started, result.Stamp.Number))
	e.word("status", string(r.Status))
	e.word("env", r.Asset.Env.String())
	whole := detail
	detail = detail || !r.Product.ShortLists
	for _, c := range r.Product.Columns.Columns {
		switch {
		case c == contract.Sent.Column:
			if detail {
				f.appendMetadata(e, r)
			}
		case c.Place == schema.Short, c.Place == schema.Detail && detail, c.Place == schema.Deep && whole:
			f.appendField(e, c, c.Value(r.Values))
		}
	}
	e.instant("inserted_at", result.Stamp.Started)
	e.instant("updated_at", result.Stamp.Updated)
}

// appendMetadata writes what was sent, and beside it what the specification has the
// service put there. Its own keys go before equal ones that were sent.
func (f style) appendMetadata(e *encoder, r *contract.Record) {
	own := make(map[string]bool)
	for _, c := range r.Product.Columns.Columns {
		if c.Place == schema.Metadata && c.Value(r.Values) != nil {
			own[c.Name] = true
		}
	}
	sent := contract.Sent.Of(r.Values)
	switch {
	case len(own) == 0 && f.bare && isEmptyObject(orNothing(sent)):
		return
	case len(own) == 0 && sent == nil:
		e.null(contract.Sent.Name)
		return
	case len(own) == 0:
		e.object(contract.Sent.Name, sent)
		return
	}
	e.enter(contract.Sent.Name, '{')
	e.members(orNothing(sent), func(name []byte) bool { return !own[string(name)] })
	for _, c := range r.Product.Columns.Columns {
		if own[c.Name] && c.Place == schema.Metadata {
			f.appendField(e, c, c.Value(r.Values))
		}
	}
	e.close('}')
}

// appendField writes one column's value.
func (f style) appendField(e *encoder, c *schema.Column, value any) {
	if rows, ok := value.([]schema.Row); c.Kind == schema.KindRows && !c.Single && (ok || !f.bare) {
		if len(rows) > 0 || !f.bare {
			f.appendRows(e, c, rows)
		}
		return
	}
	if value == nil || f.bare && empty(value) {
		if !f.bare && !c.Sparse {
			e.null(c.Name)
		}
		return
	}
	switch v := value.(type) {
	case string:
		e.text(c.Name, v)
	case ledger.ID:
		e.id(c.Name, v)
	case int64:
		e.integer(c.Name, v)
	case bool:
		e.boolean(c.Name, v)
	case money.Amount:
		f.appendSigned(e, c.Name, money.Signed{Abs: v})
	case money.Signed:
		f.appendSigned(e, c.Name, v)
	case ledger.Date:
		e.word(c.Name, v.String())
	case ledger.Micros:
		e.instant(c.Name, v)
	case contract.Ratio:
		e.enter(c.Name, '{')
		e.integer("bank", v.Bank)
		e.integer("customer", v.Customer)
		e.close('}')
	case contract.Approval:
		e.enter(c.Name, '{')
		v.Texts(e.text)
		e.close('}')
	case []string:
		e.texts(c.Name, v)
	case []byte:
		e.object(c.Name, v)
	case []schema.Row: // single
		e.enter(c.Name, '{')
		f.appendRow(e, c.Of, v[0])
		e.close('}')
	}
}

// empty tells of a value that says nothing; 0 and false do.
func empty(value any) bool {
	switch v := value.(type) {
	case string:
		return v == ""
	case []string:
		return len(v) == 0
	case []schema.Row:
		return len(v) == 0
	case []byte:
		return isEmptyObject(v)
	}
	return false
}

func (f style) appendSigned(e *encoder, name string, s money.Signed) {
	if f.texts {
		e.signed(name, s)
		return
	}
	e.key(name)
	if s.Negative && !s.IsZero() {
		e.buf = append(e.buf, '-')
	}
	e.buf = s.Abs.AppendDecimal(e.buf)
}

func (f style) appendRows(e *encoder, c *schema.Column, rows []schema.Row) {
	e.enter(c.Name, '[')
	for _, row := range rows {
		e.open('{')
		f.appendRow(e, c.Of, row)
		e.close('}')
	}
	e.close(']')
}

func (f style) appendRow(e *encoder, t *schema.Table, row schema.Row) {
	for _, c := range t.Columns {
		if c.Place != schema.Hidden {
			f.appendField(e, c, c.Value(row))
		}
	}
}
