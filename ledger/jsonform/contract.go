package jsonform

import (
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/schema"
)

// ContractView is what a response shows of a contract besides its record.
type ContractView struct {
	Org              ledger.ID
	Started, Updated ledger.Micros // from the store's row around the record
	Number           uint64        // the contract's place in the sequence of contract numbers
	InList           bool          // the response is a list
}

// AppendContract appends a contract's fields in the style of its reading: all of them or, in a
// list, those of its short form if the product has one.
func AppendContract(e *schema.Encoder, r *contract.Record, v *ContractView) {
	e.ID("id", r.ID)
	if r.Reading.NamesProduct {
		e.Text("product_type", r.Product.Variants[r.Reading].Name)
		e.ID("organization_id", v.Org)
	}
	e.Text("contract_number", r.Number(v.Started, v.Number))
	e.Word("status", string(r.Status))
	e.Word("env", r.Asset.Env.String())
	detail := !v.InList || !r.Product.ShortLists
	for _, c := range r.Product.Columns.Columns {
		switch {
		case c == contract.Sent.Column:
			if detail {
				appendMetadata(e, r)
			}
		case c.Place == schema.Short, c.Place == schema.Detail && detail, c.Place == schema.Deep && !v.InList:
			appendColumn(e, r, c)
		}
	}
	e.Instant("inserted_at", v.Started)
	e.Instant("updated_at", v.Updated)
}

// appendMetadata writes the caller's metadata and, beside it, the columns that the
// specification puts there. A column has precedence over a key of the caller with the same name.
func appendMetadata(e *schema.Encoder, r *contract.Record) {
	columns := make(map[string]bool)
	for _, c := range r.Product.Columns.Columns {
		if c.Place == schema.Metadata && c.Value(r.Values) != nil {
			columns[c.Name] = true
		}
	}
	metadata := contract.Sent.Get(r.Values)
	switch {
	case len(columns) == 0 && r.Reading.Answers.OmitEmpty && isEmpty(metadata):
		return
	case len(columns) == 0 && metadata == nil:
		e.Null(contract.Sent.Name)
		return
	case len(columns) == 0:
		e.Object(contract.Sent.Name, metadata)
		return
	}
	e.OpenField(contract.Sent.Name, '{')
	e.Members(metadata, func(name []byte) bool { return !columns[string(name)] })
	for _, c := range r.Product.Columns.Columns {
		if columns[c.Name] && c.Place == schema.Metadata {
			appendColumn(e, r, c)
		}
	}
	e.Close('}')
}

// isEmpty tells whether a JSON object is absent or has no members.
func isEmpty(object []byte) bool {
	if len(object) == 0 {
		return true
	}
	m := jsonwalk.MembersOf(object)
	_, _, more := m.Next()
	return !more
}

func appendColumn(e *schema.Encoder, r *contract.Record, c *schema.Column) {
	e.Buf = schema.AppendField(e.Buf, c, c.Value(r.Values), r.Reading.Answers)
}
