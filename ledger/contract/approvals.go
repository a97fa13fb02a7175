package contract

import (
	"encoding/binary"
	"encoding/json"
	"strconv"

	"mizan/ledger/schema"
)

// Kinds of columns that only this package uses.
var (
	KindShares schema.Kind = sharesKind{} // values have the type Ratio
	KindReview schema.Kind = reviewKind{} // values have the type Approval
)

// shares defines a column for the ratio in which bank and customer share the profit.
func shares(key uint8, name string, options ...schema.Option) schema.TypedColumn[Ratio] {
	return schema.NewTypedColumn[Ratio](key, name, KindShares, options)
}

// approval defines a column for the conclusion of a review.
func approval(key uint8, name string, options ...schema.Option) schema.TypedColumn[Approval] {
	return schema.NewTypedColumn[Approval](key, name, KindReview, append(options, func(c *schema.Column) { c.Nested = reviews }))
}

var (
	anyPercent = schema.Percent(1, "", 0, 100)

	// The members of a value of kind KindShares, in whole percent.
	bankShare     = schema.Percent(1, "bank", 0, 100, schema.Required, schema.Help("the bank's share in percent"))
	customerShare = schema.Percent(2, "customer", 0, 100, schema.Required, schema.Help("the customer's share in percent"))
)

type sharesKind struct {
	schema.NeverEmpty
	schema.Unbounded
}

func (sharesKind) String() string { return "shares" }

func (sharesKind) Parse(_ *schema.Column, raw []byte, options schema.ParseOptions) (any, string) {
	const wrongForm = "must be {bank, customer}, whole percent that add up to 100"
	var request schema.Input
	if raw[0] != '{' || json.Unmarshal(raw, &request) != nil {
		return nil, wrongForm
	}
	kind := schema.KindPercent
	bank, bankProblem := kind.Parse(anyPercent.Column, request["bank"], options)
	customer, customerProblem := kind.Parse(anyPercent.Column, request["customer"], options)
	if bankProblem != "" || customerProblem != "" || kind.Check(anyPercent.Column, bank) != "" || kind.Check(anyPercent.Column, customer) != "" {
		return nil, wrongForm
	}
	r := Ratio{Bank: bank.(int64), Customer: customer.(int64)}
	if r.Bank+r.Customer != 100 {
		return nil, wrongForm
	}
	return r, ""
}

func (sharesKind) AppendStored(_ *schema.Column, dst []byte, value any) []byte {
	r := value.(Ratio)
	return binary.AppendVarint(binary.AppendVarint(dst, r.Bank), r.Customer)
}

func (sharesKind) ReadStored(_ *schema.Column, stored []byte) (any, bool) {
	bank, n := binary.Varint(stored)
	if n <= 0 {
		return nil, false
	}
	customer, m := binary.Varint(stored[n:])
	return Ratio{Bank: bank, Customer: customer}, m > 0 && n+m == len(stored)
}

func (sharesKind) AppendJSON(_ *schema.Column, dst []byte, value any, _ schema.Style) []byte {
	r := value.(Ratio)
	dst = strconv.AppendInt(schema.AppendName(append(dst, '{'), "bank"), r.Bank, 10)
	dst = strconv.AppendInt(schema.AppendName(dst, "customer"), r.Customer, 10)
	return append(dst, '}')
}

// Form implements schema.Kind.
func (sharesKind) Form(*schema.Column, schema.Use) schema.Form {
	return schema.Form{Type: "object", Members: []*schema.Column{bankShare.Column, customerShare.Column}}
}

type reviewKind struct {
	schema.NeverEmpty
	schema.Unbounded
}

func (reviewKind) String() string { return "review" }

func (reviewKind) Parse(c *schema.Column, raw []byte, _ schema.ParseOptions) (any, string) {
	row, problem := c.ReadMembers(raw, schema.ParseOptions{})
	if problem != "" {
		return nil, problem
	}
	return approvalOf(c.Nested, row), ""
}

func (reviewKind) AppendStored(_ *schema.Column, dst []byte, value any) []byte {
	for _, field := range value.(Approval) {
		dst = schema.AppendBytes(schema.AppendBytes(dst, field.Name), field.Text)
	}
	return dst
}

func (reviewKind) ReadStored(_ *schema.Column, stored []byte) (any, bool) {
	var a Approval
	for len(stored) > 0 {
		name, rest, ok := schema.CutBytes(stored)
		if !ok {
			return nil, false
		}
		text, rest, ok := schema.CutBytes(rest)
		if !ok {
			return nil, false
		}
		a, stored = append(a, ApprovalText{string(name), string(text)}), rest
	}
	return a, true
}

func (reviewKind) AppendJSON(_ *schema.Column, dst []byte, value any, _ schema.Style) []byte {
	dst = append(dst, '{')
	for _, field := range value.(Approval) {
		dst = schema.AppendText(schema.AppendName(dst, field.Name), field.Text)
	}
	return append(dst, '}')
}

// Form implements schema.Kind. boardReviews has the columns of all kinds of reviews, so a review in a response may have any of
// its columns.
func (reviewKind) Form(c *schema.Column, use schema.Use) schema.Form {
	if use.InRequest {
		return schema.Form{Type: "object", Members: c.Nested.Members(use)}
	}
	return schema.Form{Type: "object", Members: boardReviews.Columns, Partial: true}
}

// maxNote is the maximum number of characters of a long text, such as the note of a review.
const maxNote = 2000
