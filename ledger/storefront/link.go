package storefront

import (
	"log/slog"
	"slices"

	"mizan/ledger"
	"mizan/ledger/columns"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/schema"
)

// Maximum lengths of the texts and lists of a link or a product.
const (
	MaxName        = 200
	MaxDescription = 2000
	MaxProducts    = 100
)

// AmountType says who chooses the amount of a link's payments.
type AmountType string

// The types of amounts.
const (
	Fixed   AmountType = "fixed"   // every payment has the link's amount
	Dynamic AmountType = "dynamic" // the payer enters the amount
)

// Link is a payment link: the address of a page on which anybody can pay a partner.
type Link struct {
	ID          ledger.ID
	Org         ledger.ID
	Partner     int64
	Env         money.Env
	Amount      LinkAmount
	AmountType  AmountType
	PayConfig   PayConfig
	Image       Picture
	Products    []BoundProduct
	Name        string
	Description string
	Metadata    []byte // JSON object that becomes the merchant_meta of the link's payments; nil if absent
	ReturnURL   string
	FailURL     string
	Active      bool
	CreatedAt   ledger.Micros

	Payments Payments // the charged payments; set when the link is shown
	Base     string   // scheme and host of the public addresses; set when the link is shown
}

// LinkAmount is the amount of a link's payments.
type LinkAmount struct {
	Default  money.Amount // for the type Fixed, the amount to pay; for Dynamic, the amount that the page suggests
	Min, Max money.Amount // bounds of the amount that the payer enters; zero: no bound
	Currency money.Currency
	Network  money.Network
}

// PayConfig lists the payment methods with which a link can be paid.
type PayConfig struct {
	Methods []string // types of money_storage, or Card; empty: all that the partner's terminals accept
}

// Card is the name in PayConfig.Methods for the money_storage type bank_card.
const Card = "card"

// Payments contains the number of a link's charged payments, and their sum.
type Payments struct {
	Count  int64
	Amount money.Amount // in the link's asset
}

// Links are the columns of links (specification, "Payment link").
var Links = schema.NewType[Link]("link",
	columns.IDColumn(func(l *Link) *ledger.ID { return &l.ID }),
	schema.Field(schema.Instant(0, "created", schema.NotNull, schema.Transient, schema.ReadOnlyFixed,
		schema.Help("when it was created")), func(l *Link) *ledger.Micros { return &l.CreatedAt }),
	columns.PartnerColumn(1, func(l *Link) *int64 { return &l.Partner }, schema.Required, schema.Fixed),
	columns.EnvColumn(2, func(l *Link) *money.Env { return &l.Env }, schema.Fixed, schema.RefuseEmpty(emptyMessage)),
	schema.Field(schema.Nested(3, "amount", linkAmounts, schema.Required, schema.NotNull,
		schema.Help("amount of the payments that are made at the link")), func(l *Link) *LinkAmount { return &l.Amount }),
	schema.TextField(schema.Word(4, "amount_type", []string{string(Fixed), string(Dynamic)}, schema.Required,
		schema.Help("whether the amount is always amount.default (fixed), or the payer enters it (dynamic)")), func(l *Link) *AmountType { return &l.AmountType }),
	schema.Field(schema.Nested(5, "pay_config", payConfigs, schema.Required, schema.NotNull,
		schema.Help("how the link can be paid")), func(l *Link) *PayConfig { return &l.PayConfig }),
	pictureColumn(func(l *Link) (*Picture, string) { return &l.Image, l.Base }),
	pictureNameColumn(6, func(l *Link) *Picture { return &l.Image }),
	boundColumn(7, func(l *Link) *[]BoundProduct { return &l.Products }),
	schema.Field(schema.Text(8, "name", schema.Settable, schema.OneLine, schema.AtMost(MaxName),
		schema.Help("title of the page")), func(l *Link) *string { return &l.Name }),
	schema.Field(schema.Text(9, "description", schema.Settable, schema.AtMost(MaxDescription),
		schema.Help("text of the page")), func(l *Link) *string { return &l.Description }),
	schema.Field(schema.Object(10, "metadata", schema.Settable,
		schema.Help("object that the link's payments get as their merchant_meta")), func(l *Link) *[]byte { return &l.Metadata }),
	addressColumn(11, "return_url", "address to which payers are sent after a payment", func(l *Link) *string { return &l.ReturnURL }),
	addressColumn(12, "fail_url", "address to which payers are sent after a payment has failed", func(l *Link) *string { return &l.FailURL }),
	schema.Field(schema.Bool(13, "active", schema.NotNull, schema.DefaultTo(true),
		schema.Help("whether payments can be made at the link's address")), func(l *Link) *bool { return &l.Active }),
	publicColumn("url", "address of the link's page", func(l *Link) string { return l.Base + LinkPath + l.ID.String() }),
	publicColumn("qr_url", "address of the link's QR code", func(l *Link) string { return l.Base + LinkPath + l.ID.String() + QRSuffix }),
	schema.ComputedField(schema.Nested(0, "payments", shownPayments, schema.ReadOnlyFixed, schema.Contextual, schema.NotNull,
		schema.Help("number and sum of the link's charged payments")), func(l *Link) (Payments, bool) { return l.Payments, true }),
).CrossCheck(crossCheckLink).
	Invariant(func(l *Link) string {
		if l.Partner < 1 || !l.Env.IsValid() || l.Amount.Currency == "" {
			return "has no partner, environment or currency"
		}
		return ""
	}).
	WithRowMetadata(func(l *Link, metadata schema.RowMetadata) {
		l.Org, l.ID, l.CreatedAt = metadata.Org, metadata.ID, metadata.CreatedAt
	})

var linkAmounts = schema.NewType[LinkAmount]("amount",
	schema.Field(schema.MinorUnits(1, "default", schema.Required,
		schema.Help("amount in minor units; for a dynamic link, the amount that the page suggests")), func(a *LinkAmount) *money.Amount { return &a.Default }),
	currencyColumn(2, func(a *LinkAmount) *money.Currency { return &a.Currency }),
	networkColumn(3, func(a *LinkAmount) *money.Network { return &a.Network }),
	schema.Field(schema.MinorUnits(4, "min", schema.Settable,
		schema.Help("smallest amount that a payer may enter")), func(a *LinkAmount) *money.Amount { return &a.Min }),
	schema.Field(schema.MinorUnits(5, "max", schema.Settable,
		schema.Help("greatest amount that a payer may enter")), func(a *LinkAmount) *money.Amount { return &a.Max }),
)

var payConfigs = schema.NewType[PayConfig]("pay_config",
	schema.Field(schema.Texts(1, "methods", schema.Settable, schema.NotNull, schema.Rule(methodsRule),
		schema.Help("types of money_storage, or card; an empty list means all that the partner's terminals accept")), func(p *PayConfig) *[]string { return &p.Methods }),
)

var shownPayments = schema.NewType[Payments]("payments",
	schema.Field(schema.DerivedInteger(0, "count", schema.NotNull, schema.Transient, schema.Help("number of charged payments")), func(p *Payments) *int64 { return &p.Count }),
	schema.Field(schema.MinorUnits(0, "amount", schema.NotNull, schema.Transient, schema.Help("sum of the charged payments in minor units")), func(p *Payments) *money.Amount { return &p.Amount }),
)

func methodsRule(value any) string {
	for _, name := range value.([]string) {
		if _, known := payment.Method([]byte(name)); !known && name != Card {
			return "must hold types of money_storage, or card"
		}
	}
	return ""
}

// Types returns the types of money_storage with which the link can be paid, without duplicates. It returns nil if the link can
// be paid with every type that the partner's terminals accept.
func (p PayConfig) Types() (types []string) {
	for _, name := range p.Methods {
		if name == Card {
			name = payment.BankCard
		}
		if !slices.Contains(types, name) {
			types = append(types, name)
		}
	}
	return types
}

// crossCheckLink compares the amounts of a link with MaxAmount and with each other.
func crossCheckLink(old, l *Link, f *schema.Faults) {
	checkAmounts("amount.", l.Asset(), f, namedAmount{"default", l.Amount.Default}, namedAmount{"min", l.Amount.Min}, namedAmount{"max", l.Amount.Max})
	a := &l.Amount
	isBounded := !a.Min.IsZero() || !a.Max.IsZero()
	switch {
	case !f.IsEmpty():
	case isBounded && l.AmountType != Dynamic:
		f.Add("amount", "min and max are for amount_type dynamic")
	case !a.Max.IsZero() && a.Max.Less(a.Min):
		f.Add("amount.max", "is below min")
	case a.Default.Less(a.Min), !a.Max.IsZero() && a.Max.Less(a.Default):
		f.Add("amount.default", "must be from min to max")
	}
}

// Asset returns the asset of the link's payments.
func (l *Link) Asset() money.Asset {
	return columns.ResolveNetwork(money.Asset{Currency: l.Amount.Currency, Network: l.Amount.Network, Env: l.Env})
}

// LogValue implements slog.LogValuer.
func (l *Link) LogValue() slog.Value { return slog.StringValue(l.ID.String()) }

// NewLink returns a new link with the fields of the draft, and the event that creates it. Before the call, the caller must fill
// in the draft's fields that come from the store. The error is *schema.Faults.
func NewLink(draft Link, f *schema.Faults) (*Link, ledger.Event, error) {
	l := &draft
	l.Amount.Network = l.Asset().Network
	if Links.Check(nil, l, f); !f.IsEmpty() {
		return nil, ledger.Event{}, f
	}
	return l, directory.CreatedEvent(ledger.Link, l.ID, l.Active), nil
}

// Patch returns a changed copy of the link, and the event of the change. The function change sets the fields that the request
// and the store determine. If nothing changes, the event has no name. The error is *schema.Faults.
func (l *Link) Patch(change schema.Change[Link]) (*Link, ledger.Event, error) {
	next, f := *l, new(schema.Faults)
	change(&next, f)
	next.Amount.Network = networkAfter(l.Asset(), next.Asset())
	if Links.Check(l, &next, f); !f.IsEmpty() {
		return nil, ledger.Event{}, f
	}
	if Links.Equal(&next, l) {
		return l, ledger.Event{}, nil
	}
	return &next, directory.SwitchEvent(ledger.Link, l.ID, l.Active, next.Active), nil
}
