package storefront

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// LinkLists and ProductLists declare the lists of links and of products. Each partner has its own lists in each environment.
var (
	LinkLists    = ledger.NewPartnerLists(ledger.Link, func(l *Link) (partner int64, env money.Env) { return l.Partner, l.Env })
	ProductLists = ledger.NewPartnerLists(ledger.Product, func(p *Product) (partner int64, env money.Env) { return p.Partner, p.Env })
)

// The lists of links and of products.
var (
	AllLinks    = LinkLists.Declare(1, func(*Link) bool { return true })
	AllProducts = ProductLists.Declare(1, func(*Product) bool { return true })
)

// Types maps the kinds of the storefront's records in the journal to their record types.
var Types = map[ledger.Kind]schema.AnyType{
	ledger.Link:    Links,
	ledger.Product: Products,
	ledger.Image:   Images,
}
