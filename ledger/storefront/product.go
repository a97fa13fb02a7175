package storefront

import (
	"log/slog"

	"mizan/ledger"
	"mizan/ledger/columns"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// MaxQuantity is the largest value of Product.Quantity.
const MaxQuantity = 9999

// Product is an item that a partner sells. Every product has a page of its own, and payment links can show it too.
type Product struct {
	ID        ledger.ID
	Org       ledger.ID
	Partner   int64
	Env       money.Env
	Header    string
	Text      string
	Price     *money.Amount // nil: the payer enters the amount
	Currency  money.Currency
	Network   money.Network
	Quantity  string // a decimal integer
	Image     Picture
	Active    bool
	CreatedAt ledger.Micros

	// Deletions is the number of times that the product was deleted. A link shows the product only if the product was added
	// to the link after the last deletion.
	Deletions uint32
	IsDeleted bool // the product was deleted, and was not switched on again

	Base string // scheme and host of the public addresses; set when the product is shown
}

// Products are the columns of products (specification, "Product").
var Products = schema.NewType[Product]("product",
	columns.IDColumn(func(p *Product) *ledger.ID { return &p.ID }),
	schema.Field(schema.Instant(0, "created", schema.NotNull, schema.Transient, schema.ReadOnlyFixed,
		schema.Help("when it was created")), func(p *Product) *ledger.Micros { return &p.CreatedAt }),
	columns.PartnerColumn(1, func(p *Product) *int64 { return &p.Partner }, schema.Required, schema.Fixed),
	columns.EnvColumn(2, func(p *Product) *money.Env { return &p.Env }, schema.Fixed, schema.RefuseEmpty(emptyMessage)),
	schema.Field(schema.Text(3, "header", schema.Required, schema.OneLine, schema.AtMost(MaxName),
		schema.Help("name on the payment page")), func(p *Product) *string { return &p.Header }),
	schema.Field(schema.Text(4, "text", schema.Required, schema.AtMost(MaxDescription),
		schema.Help("short description")), func(p *Product) *string { return &p.Text }),
	schema.Field(schema.NewTypedColumn[*money.Amount](5, "price", priceKind{schema.KindMinor}, []schema.Option{schema.Settable,
		schema.Help("price in minor units; if absent, the payer enters the amount")}), func(p *Product) **money.Amount { return &p.Price }),
	currencyColumn(6, func(p *Product) *money.Currency { return &p.Currency }, schema.DefaultTo(defaultCurrency), schema.RefuseEmpty(emptyMessage)),
	networkColumn(7, func(p *Product) *money.Network { return &p.Network }),
	schema.Field(schema.Text(8, "qty", schema.Required, schema.DefaultTo("1"), schema.RefuseEmpty(emptyMessage), schema.Rule(quantityRule),
		schema.Help("number of pieces that are sold at once: an integer from 1 to 9999")), func(p *Product) *string { return &p.Quantity }),
	pictureColumn(func(p *Product) (*Picture, string) { return &p.Image, p.Base }),
	pictureNameColumn(9, func(p *Product) *Picture { return &p.Image }),
	schema.Field(schema.Bool(10, "active", schema.NotNull, schema.DefaultTo(true),
		schema.Help("whether payments can be made at the product's address")), func(p *Product) *bool { return &p.Active }),
	publicColumn("url", "address of the product's page", func(p *Product) string { return p.Base + ProductPath + p.ID.String() }),
	publicColumn("qr_url", "address of the product's QR code", func(p *Product) string { return p.Base + ProductPath + p.ID.String() + QRSuffix }),
	schema.NumberField(schema.DerivedInteger(11, "deletions", schema.NotShown), func(p *Product) *uint32 { return &p.Deletions }),
	schema.Field(schema.Bool(12, "deleted", schema.NotShown), func(p *Product) *bool { return &p.IsDeleted }),
).CrossCheck(crossCheckProduct).
	Invariant(func(p *Product) string {
		if _, ok := quantity(p.Quantity); !ok || p.Partner < 1 || !p.Env.IsValid() || p.Currency == "" {
			return "has no partner, environment, currency or quantity"
		}
		if p.IsDeleted && (p.Active || p.Deletions == 0) {
			return "is deleted and on sale, or deleted without a deletion"
		}
		return ""
	}).
	WithRowMetadata(func(p *Product, metadata schema.RowMetadata) {
		p.Org, p.ID, p.CreatedAt = metadata.Org, metadata.ID, metadata.CreatedAt
	})

// defaultCurrency is used if a request for a product names no currency (specification, "Product").
const defaultCurrency = "RUB"

// priceKind is the kind of columns for a price, which may be zero or absent. The values have the type *money.Amount.
type priceKind struct{ schema.Kind }

// Shape implements schema.Shaped.
func (priceKind) Shape() schema.Shape { return schema.Number }

// Form implements schema.Kind.
func (priceKind) Form(*schema.Column, schema.Use) schema.Form {
	return schema.Form{Type: "integer", Min: new(int64), MinorUnits: true}
}

// Parse implements schema.Kind.
func (k priceKind) Parse(c *schema.Column, raw []byte, options schema.ParseOptions) (any, string) {
	value, problem := k.Kind.Parse(c, raw, options)
	if problem != "" {
		return nil, problem
	}
	price := value.(money.Amount)
	return &price, ""
}

// Check implements schema.Kind. It accepts any price, because crossCheckProduct checks the bounds.
func (priceKind) Check(*schema.Column, any) string { return "" }

// AppendStored implements schema.Kind.
func (k priceKind) AppendStored(c *schema.Column, dst []byte, value any) []byte {
	return k.Kind.AppendStored(c, dst, *value.(*money.Amount))
}

// ReadStored implements schema.Kind.
func (k priceKind) ReadStored(c *schema.Column, stored []byte) (any, bool) {
	value, ok := k.Kind.ReadStored(c, stored)
	if !ok {
		return nil, false
	}
	price := value.(money.Amount)
	return &price, true
}

// AppendJSON implements schema.Kind.
func (k priceKind) AppendJSON(c *schema.Column, dst []byte, value any, style schema.Style) []byte {
	return k.Kind.AppendJSON(c, dst, *value.(*money.Amount), style)
}

func quantityRule(value any) string {
	if _, ok := quantity(value.(string)); !ok {
		return "must be an integer from 1 to 9999, as a string"
	}
	return ""
}

func crossCheckProduct(_, p *Product, f *schema.Faults) {
	price := namedAmount{name: "price"}
	if p.Price != nil {
		price.amount = *p.Price
	}
	checkAmounts("", p.Asset(), f, price)
}

// Asset returns the asset of the product's price.
func (p *Product) Asset() money.Asset {
	return columns.ResolveNetwork(money.Asset{Currency: p.Currency, Network: p.Network, Env: p.Env})
}

// Total returns price × quantity. If the payer enters the amount, ok is false.
func (p *Product) Total() (total money.Amount, ok bool) {
	n, _ := quantity(p.Quantity)
	if p.Price == nil {
		return total, false
	}
	total, err := p.Price.Mul(money.FromUint64(n))
	return total, err == nil
}

// LogValue implements slog.LogValuer.
func (p *Product) LogValue() slog.Value { return slog.StringValue(p.ID.String()) }

// NewProduct returns a new product with the fields of the draft, and the event that creates it. Before the call, the caller
// must fill in the draft's fields that come from the store. The error is *schema.Faults.
func NewProduct(draft Product, f *schema.Faults) (*Product, ledger.Event, error) {
	p := &draft
	p.Network = p.Asset().Network
	if Products.Check(nil, p, f); !f.IsEmpty() {
		return nil, ledger.Event{}, f
	}
	return p, directory.CreatedEvent(ledger.Product, p.ID, p.Active), nil
}

// Patch returns a changed copy of the product, and the event of the change. The function change sets the fields that the
// request and the store determine. If nothing changes, the event has no name. The error is *schema.Faults.
func (p *Product) Patch(change schema.Change[Product]) (*Product, ledger.Event, error) {
	next, f := *p, new(schema.Faults)
	change(&next, f)
	next.Network = networkAfter(p.Asset(), next.Asset())
	next.IsDeleted = next.IsDeleted && !next.Active
	if Products.Check(p, &next, f); !f.IsEmpty() {
		return nil, ledger.Event{}, f
	}
	if Products.Equal(&next, p) {
		return p, ledger.Event{}, nil
	}
	return &next, directory.SwitchEvent(ledger.Product, p.ID, p.Active, next.Active), nil
}

// Delete switches the product off, so that nobody can pay for it. It also increments Deletions, so that payment links no longer
// show the product.
func (p *Product) Delete() {
	if !p.IsDeleted {
		p.Deletions++
	}
	p.Active, p.IsDeleted = false, true
}
