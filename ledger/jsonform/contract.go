package jsonform

import (
	"mizan/internal/jsonwalk"
	"mizan/ledger"
	"mizan/ledger/contract"
	"mizan/ledger/schema"
)

// ContractView contains data of a contract that responses show although the contract's record does not contain it.
type ContractView struct {
	Org                  ledger.ID
	StartedAt, UpdatedAt ledger.Micros // times of the creation and of the last change, which the store keeps beside the record
	Number               uint64        // sequence number of the contract, from which its contract number is made
	InList               bool          // the response is a list of contracts, not a single contract
}

// AppendContract appends a contract's fields in the style of the contract's reading (secular or religious). The Place of a
// column says whether lists show the column. If the product has ShortLists, lists show fewer columns.
func AppendContract(out *schema.Encoder, r *contract.Record, view *ContractView) {
	out.ID("id", r.ID)
	if r.Reading.NamesProduct {
		out.Text("product_type", r.Product.Variants[r.Reading].Name)
		out.ID("organization_id", view.Org)
	}
	out.Text("contract_number", r.Number(view.StartedAt, view.Number))
	out.Word("status", string(r.Status))
	out.Word("env", r.Asset.Env.String())
	showDetail := !view.InList || !r.Product.ShortLists
	for _, c := range r.Product.Columns.Columns {
		switch {
		case c == contract.ClientMetadata.Column:
			if showDetail {
				appendMetadata(out, r)
			}
		case c.Visibility == schema.Short, c.Visibility == schema.Detail && showDetail, c.Visibility == schema.OutsideLists && !view.InList:
			appendColumn(out, r, c)
		}
	}
	out.Instant("inserted_at", view.StartedAt)
	out.Instant("updated_at", view.UpdatedAt)
}

// appendMetadata writes the object metadata. It contains the members that the client sent, and the columns that the
// specification puts into this object. If a member that the client sent has the name of such a column, only the column is
// written.
func appendMetadata(out *schema.Encoder, r *contract.Record) {
	columnNames := make(map[string]bool)
	for _, c := range r.Product.Columns.Columns {
		if c.Visibility == schema.Metadata && c.Value(r.Values) != nil {
			columnNames[c.Name] = true
		}
	}
	metadata := contract.ClientMetadata.Get(r.Values)
	switch {
	case len(columnNames) == 0 && r.Reading.ResponseStyle.OmitEmpty && isEmpty(metadata):
		return
	case len(columnNames) == 0 && metadata == nil:
		out.Null(contract.ClientMetadata.Name)
		return
	case len(columnNames) == 0:
		out.Object(contract.ClientMetadata.Name, metadata)
		return
	}
	out.OpenField(contract.ClientMetadata.Name, '{')
	out.Members(metadata, func(name []byte) bool { return !columnNames[string(name)] })
	for _, c := range r.Product.Columns.Columns {
		if columnNames[c.Name] && c.Visibility == schema.Metadata {
			appendColumn(out, r, c)
		}
	}
	out.Close('}')
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

func appendColumn(out *schema.Encoder, r *contract.Record, c *schema.Column) {
	out.Buf = schema.AppendField(out.Buf, c, c.Value(r.Values), r.Reading.ResponseStyle)
}
