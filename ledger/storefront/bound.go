package storefront

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/schema"
)

// BoundProduct is a product on a payment link: the link's page shows the product.
type BoundProduct struct {
	ID        ledger.ID
	Deletions uint32   // the value of Product.Deletions when the product was added to the link
	isNew     bool     // a request has added the product, and BindProducts has not looked it up yet
	Product   *Product // looked up by ResolveProducts; nil: the link does not show the product
}

// boundColumn returns the column of a link's products. In a response each product is an object. In a request each product is a
// UUID, or an object like those in responses.
func boundColumn[R any](key uint8, fieldOf func(*R) *[]BoundProduct) *schema.Column {
	return schema.Field(schema.NewTypedColumn[[]BoundProduct](key, "products", boundKind{}, []schema.Option{schema.Settable, schema.NotNull, schema.Contextual, schema.AtMost(MaxProducts),
		schema.Help("products of the same partner that the page shows: UUIDs in requests, products in responses")}), fieldOf)
}

// boundKind is the kind of columns whose values have the type []BoundProduct.
type boundKind struct{}

func (boundKind) String() string { return "list of products" }

// Parse implements schema.Kind. Each entry of the list is a product's UUID, or an object whose id is the UUID, like those in
// responses.
func (boundKind) Parse(_ *schema.Column, raw []byte, _ schema.ParseOptions) (any, string) {
	const form = "must be a list of UUIDs, or of products with their id"
	var entries []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &entries) != nil {
		return nil, form
	}
	list := []BoundProduct{}
	for _, entry := range entries {
		id, ok := parseProduct(entry)
		if !ok {
			return nil, form
		}
		list = append(list, BoundProduct{ID: id, isNew: true})
	}
	return list, ""
}

// parseProduct returns a product's id, given the product's entry in a list that a request has sent.
func parseProduct(entry json.RawMessage) (id ledger.ID, ok bool) {
	if entry[0] == '{' {
		var product map[string]json.RawMessage // not a struct, because encoding/json matches the names of a struct's fields regardless of case
		if json.Unmarshal(entry, &product) != nil {
			return id, false
		}
		entry = product["id"]
	}
	var text string
	if len(entry) == 0 || entry[0] != '"' || json.Unmarshal(entry, &text) != nil || len(text) != len(id.String()) {
		return id, false
	}
	id, err := uuid.Parse(text)
	return id, err == nil
}

// Check implements schema.Kind.
func (boundKind) Check(c *schema.Column, value any) string {
	if len(value.([]BoundProduct)) > c.MaxLength {
		return "has more than " + strconv.Itoa(c.MaxLength) + " entries"
	}
	return ""
}

// AppendStored implements schema.Kind.
func (boundKind) AppendStored(_ *schema.Column, dst []byte, value any) []byte {
	for _, bound := range value.([]BoundProduct) {
		stored, _ := boundProducts.AppendStored(nil, &bound, nil)
		dst = schema.AppendBytes(dst, stored)
	}
	return dst
}

// ReadStored implements schema.Kind.
func (boundKind) ReadStored(_ *schema.Column, stored []byte) (any, bool) {
	var list []BoundProduct
	for len(stored) > 0 {
		entry, rest, ok := schema.CutBytes(stored)
		var bound BoundProduct
		if !ok || boundProducts.ReadStored(entry, &bound, nil) != nil {
			return nil, false
		}
		list, stored = append(list, bound), rest
	}
	return list, true
}

var boundProducts = schema.NewType[BoundProduct]("bound product",
	schema.Field(schema.ID(1, "id", schema.NotShown, schema.RequiredInStore), func(b *BoundProduct) *ledger.ID { return &b.ID }),
	schema.NumberField(schema.DerivedInteger(2, "deletions", schema.NotShown), func(b *BoundProduct) *uint32 { return &b.Deletions }),
)

// AppendJSON implements schema.Kind.
func (boundKind) AppendJSON(_ *schema.Column, dst []byte, value any, style schema.Style) []byte {
	dst = append(dst, '[')
	isFirst := true
	for _, bound := range value.([]BoundProduct) {
		if bound.Product == nil {
			continue
		}
		if !isFirst {
			dst = append(dst, ',')
		}
		isFirst = false
		dst = append(Products.AppendFields(append(dst, '{'), bound.Product, style), '}')
	}
	return append(dst, ']')
}

// Form implements schema.Kind.
func (boundKind) Form(c *schema.Column, use schema.Use) schema.Form {
	if !use.InRequest {
		return schema.Form{Type: "array", Entry: &schema.Form{Type: "object", Members: Products.ShownColumns()}}
	}
	entry := schema.Form{AnyOf: []schema.Form{{Type: "string", Format: "uuid"}, {Type: "object", Open: true}}}
	return schema.Form{Type: "array", MaxLength: c.MaxLength, Entry: &entry}
}

// Shape implements schema.Shaped.
func (boundKind) Shape() schema.Shape { return schema.TextList }

// Empty implements schema.Kind.
func (boundKind) Empty(value any) bool { return len(value.([]BoundProduct)) == 0 }

// BindProducts looks up the products that a request has added to the link. It removes repeated products, unknown products,
// deleted products, and products of other partners. find returns nil if there is no product with the id.
func (l *Link) BindProducts(find func(id ledger.ID) *Product) {
	var bound []BoundProduct
	for _, requested := range l.Products {
		if !requested.isNew {
			bound = append(bound, requested) // bound before this request
			continue
		}
		isRepeated := slices.ContainsFunc(bound, func(earlier BoundProduct) bool { return earlier.ID == requested.ID })
		if p := find(requested.ID); p != nil && !p.IsDeleted && p.Partner == l.Partner && !isRepeated {
			bound = append(bound, BoundProduct{ID: p.ID, Deletions: p.Deletions})
		}
	}
	l.Products = bound
}

// ResolveProducts sets BoundProduct.Product for each product that was not deleted after it was added to the link. find returns
// nil if there is no product with the id.
func (l *Link) ResolveProducts(find func(id ledger.ID) *Product) {
	l.Products = slices.Clone(l.Products)
	for i := range l.Products {
		bound := &l.Products[i]
		if p := find(bound.ID); p != nil && p.Deletions == bound.Deletions {
			bound.Product = p
		}
	}
}
