package page

import (
	"strconv"

	"mizan/api/web/locale"
	"mizan/ledger/money"
)

// AmountField is the name of the field in which a payer types an amount.
const AmountField = "amount"

// Offer is the public page of a payment link or a product. Its form begins a payment.
type Offer struct {
	Order
	Title       string // empty if none
	Description string // empty if none
	Image       string // path of a picture; empty if none
	Items       []Item
	Post        string // URL path to which the form is posted

	IsOpen   bool                 // the payer enters the amount; Sum is then the suggested amount, zero if none
	IsFree   bool                 // there is nothing to pay, so the page has no button
	Typed    string               // the text that the payer typed as the amount, if it is refused
	Problem  locale.AmountProblem // why the amount that the payer typed is refused; zero if it is not refused
	Min, Max money.Amount         // bounds of the amount, zero if none; a bound that the typed amount violates is never zero
}

// Item is one of the products that a page shows.
type Item struct {
	Header, Text string
	Price        *Sum   // price of one piece; nil if the payer decides how much to pay
	Quantity     string // number of pieces
	Image        string // path of a picture; empty if none
}

// Pieces is the number of pieces.
func (i Item) Pieces() int {
	n, _ := strconv.Atoi(i.Quantity) // at most four digits
	return n
}

// IsSeveral tells whether there is more than one piece.
func (i Item) IsSeveral() bool { return i.Quantity != "1" }

func (Offer) file() string { return "offer" }
