package page

import (
	"strconv"

	"mizan/ledger/money"
)

// AmountField is the name of the field in which a payer types an amount.
const AmountField = "amount"

// Offer is the public page of a payment link or a product. Its form begins a payment.
type Offer struct {
	Order
	Title       string // empty: none
	Description string // empty: none
	Image       string // path of a picture; empty: none
	Items       []Item
	Post        string // where the form posts to

	IsOpen   bool          // the payer enters the amount; Sum is then what the page suggests, zero for nothing
	IsFree   bool          // there is nothing to pay, so the page has no button
	Typed    string        // what the payer typed as amount, if it is refused
	Problem  AmountProblem // why the typed amount is refused; zero: it is not
	Min, Max money.Amount  // bounds of the amount; zero: none. If the amount is refused, the broken bound is set
}

// Item is one of the products that a page shows.
type Item struct {
	Header, Text string
	Price        *Sum   // of one piece; nil: the payer decides
	Quantity     string // number of pieces
	Image        string // path of a picture; empty: none
}

// Pieces is the number of pieces.
func (i Item) Pieces() int {
	n, _ := strconv.Atoi(i.Quantity) // at most four digits
	return n
}

// IsSeveral tells whether there is more than one piece.
func (i Item) IsSeveral() bool { return i.Quantity != "1" }

// AmountProblem is why an amount that a payer typed is refused. The zero value means that it is not refused.
type AmountProblem uint8

// The problems.
const (
	AmountMissing AmountProblem = iota + 1
	AmountMalformed
	AmountTooPrecise // it has more decimals than the asset
	AmountTooLow
	AmountTooHigh
)

func (Offer) file() string { return "offer" }
