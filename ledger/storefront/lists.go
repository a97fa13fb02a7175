package storefront

import (
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// LinkLists and ProductLists declare the lists of links and of products. Every partner has separate lists in each environment.
var (
	LinkLists    = ledger.NewPartnerLists(ledger.Link, func(l *Link) (partner int64, env money.Env) { return l.Partner, l.Env })
	ProductLists = ledger.NewPartnerLists(ledger.Product, func(p *Product) (partner int64, env money.Env) { return p.Partner, p.Env })
)

// The lists of all links and of all products.
var (
	AllLinks    = LinkLists.Declare(1, func(*Link) bool { return true })
	AllProducts = ProductLists.Declare(1, func(*Product) bool { return true })
)

// Types maps each kind of record that this package defines to its record type.
var Types = map[ledger.Kind]schema.AnyType{
	ledger.Link:    Links,
	ledger.Product: Products,
	ledger.Image:   Images,
}
