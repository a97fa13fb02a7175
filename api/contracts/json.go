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
	columns schema.Style
	named   bool // with the product's type and the organization
}

// appendContract appends a contract's fields: all of them, or those of its short form if the
// product has one and detail is not set.
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
	case len(own) == 0 && f.columns.OmitEmpty && web.IsEmptyObject(web.OrEmptyObject(sent)):
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
	e.Buf = schema.AppendField(e.Buf, c, value, f.columns)
}

// appendSigned writes an amount that has no column.
func (f style) appendSigned(e *web.Encoder, name string, s money.Signed) {
	e.Key(name)
	e.Buf = schema.AppendSigned(e.Buf, s, f.columns)
}
