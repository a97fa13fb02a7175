package contracts

import (
	contractactor "mizan/actors/contract"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// style is the form in which a family shows contracts.
type style struct {
	texts bool // amounts are strings; else integers, of any size
	bare  bool // what is empty is left out
	named bool // with the product's type and the organization
}

// appendContract appends a contract's fields: all, or those of its short form where the
// product has one.
func (f style) appendContract(e *web.Encoder, org ledger.ID, result *contractactor.Result, detail bool) {
	r := result.Record
	e.ID("id", r.ID)
	if f.named {
		e.Text("product_type", r.Product.Variants[r.Reading].Name)
		e.ID("organization_id", org)
	}
	e.Text("contract_number", r.Number(result.Stamp.Started, result.Stamp.Number))
	e.Word("status", string(r.Status))
	e.Word("env", r.Asset.Env.String())
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
	e.Instant("inserted_at", result.Stamp.Started)
	e.Instant("updated_at", result.Stamp.Updated)
}

// appendMetadata writes the caller's metadata and, beside it, the columns that the
// specification puts there. A column has precedence over an equal key of the caller.
func (f style) appendMetadata(e *web.Encoder, r *contract.Record) {
	own := make(map[string]bool)
	for _, c := range r.Product.Columns.Columns {
		if c.Place == schema.Metadata && c.Value(r.Values) != nil {
			own[c.Name] = true
		}
	}
	sent := contract.Sent.Of(r.Values)
	switch {
	case len(own) == 0 && f.bare && web.IsEmptyObject(web.OrEmptyObject(sent)):
		return
	case len(own) == 0 && sent == nil:
		e.Null(contract.Sent.Name)
		return
	case len(own) == 0:
		e.Object(contract.Sent.Name, sent)
		return
	}
	e.Enter(contract.Sent.Name, '{')
	e.Members(web.OrEmptyObject(sent), func(name []byte) bool { return !own[string(name)] })
	for _, c := range r.Product.Columns.Columns {
		if own[c.Name] && c.Place == schema.Metadata {
			f.appendField(e, c, c.Value(r.Values))
		}
	}
	e.Close('}')
}

// appendField writes one column's value.
func (f style) appendField(e *web.Encoder, c *schema.Column, value any) {
	if rows, ok := value.([]schema.Row); c.Kind == schema.KindRows && !c.Single && (ok || !f.bare) {
		if len(rows) > 0 || !f.bare {
			f.appendRows(e, c, rows)
		}
		return
	}
	if value == nil || f.bare && empty(value) {
		if !f.bare && !c.Sparse {
			e.Null(c.Name)
		}
		return
	}
	switch v := value.(type) {
	case string:
		e.Text(c.Name, v)
	case ledger.ID:
		e.ID(c.Name, v)
	case int64:
		e.Integer(c.Name, v)
	case bool:
		e.Boolean(c.Name, v)
	case money.Amount:
		f.appendSigned(e, c.Name, money.Signed{Abs: v})
	case money.Signed:
		f.appendSigned(e, c.Name, v)
	case ledger.Date:
		e.Word(c.Name, v.String())
	case ledger.Micros:
		e.Instant(c.Name, v)
	case contract.Ratio:
		e.Enter(c.Name, '{')
		e.Integer("bank", v.Bank)
		e.Integer("customer", v.Customer)
		e.Close('}')
	case contract.Approval:
		e.Enter(c.Name, '{')
		v.Texts(e.Text)
		e.Close('}')
	case []string:
		e.Texts(c.Name, v)
	case []byte:
		e.Object(c.Name, v)
	case []schema.Row: // single
		e.Enter(c.Name, '{')
		f.appendRow(e, c.Of, v[0])
		e.Close('}')
	}
}

// empty tells whether a value is empty; 0 and false are not.
func empty(value any) bool {
	switch v := value.(type) {
	case string:
		return v == ""
	case []string:
		return len(v) == 0
	case []schema.Row:
		return len(v) == 0
	case []byte:
		return web.IsEmptyObject(v)
	}
	return false
}

func (f style) appendSigned(e *web.Encoder, name string, s money.Signed) {
	if f.texts {
		e.Signed(name, s)
		return
	}
	e.Key(name)
	if s.Negative && !s.IsZero() {
		e.Buf = append(e.Buf, '-')
	}
	e.Buf = s.Abs.AppendDecimal(e.Buf)
}

func (f style) appendRows(e *web.Encoder, c *schema.Column, rows []schema.Row) {
	e.Enter(c.Name, '[')
	for _, row := range rows {
		e.Open('{')
		f.appendRow(e, c.Of, row)
		e.Close('}')
	}
	e.Close(']')
}

func (f style) appendRow(e *web.Encoder, t *schema.Table, row schema.Row) {
	for _, c := range t.Columns {
		if c.Place != schema.Hidden {
			f.appendField(e, c, c.Value(row))
		}
	}
}
