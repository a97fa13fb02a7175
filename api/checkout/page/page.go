package page

import (
	"slices"
	"time"

	"mizan/ledger/money"
)

// Page is what one of the pages for payers shows. Render turns it into HTML.
type Page interface {
	file() string // the name of its template's file, without .html
}

// Shop is how a page presents the merchant. The zero value presents nobody.
type Shop struct {
	Merchant string // the merchant's name; empty: not shown
	Brand    Brand
}

// Presented returns the shop itself. A page that embeds a Shop or an Order gets this method, by which shopOf finds the shop.
func (s Shop) Presented() Shop { return s }

// Order is what most pages show of a transaction: the merchant, the sum and what it is for.
type Order struct {
	Shop
	Payout    bool // true: the person at the page gets the money; false: the person pays
	Sum       Sum
	Text      string // the merchant's or the terminal's description; empty: none
	MayCancel bool   // the person at the page may cancel the transaction
}

// Test tells whether the order is in the test environment.
func (o Order) Test() bool { return o.Sum.Asset.Env == money.Test }

// Sum is an amount of minor units of an asset.
type Sum struct {
	Amount money.Amount
	Asset  money.Asset
}

// WrongFields has the names of the refused fields of a form.
type WrongFields map[string]bool

// Names of a form's fields.
const (
	MethodField = "method" // the money_storage type that the payer chose
	PayField    = "pay"    // the button of one method: its money_storage type, which overrides MethodField
	TotalField  = "total"  // hidden: the total of a card that the form shows, in minor units
	CancelField = "cancel" // the button with which the payer gives up
	StepField   = "step"   // hidden: the step for which the form was shown, so that the form has no effect at another step
)

// Checkout asks how the payer pays, or how the recipient gets a payout: by a card, or by another method that is offered.
type Checkout struct {
	Order
	Self    string            // the page's own path, where the form posts to
	Step    string            // value of the field StepField, as in the forms below
	Items   []Item            // what a link shows; empty: nothing
	Methods []Method          // at least one
	Chosen  int               // index of the chosen one in Methods
	Price   *Sum              // what is sold, without the fee; nil: there is no fee, or each method shows its own total
	Fee     *Sum              // what the payer pays besides; the order's Sum includes it
	Wrong   WrongFields       // refused fields, by the protocol's names, such as cardnumber or sort_code, and expiry
	Typed   map[string][]byte // what the payer typed, of the fields that a refused form shows again
	Left    time.Duration     // until the page expires
	Brands  []CardBrand       // the card schemes whose names the page shows

	HasExpired   bool   // the expiry date is refused because it is past
	WrongMethod  bool   // the payer chose no method, or one that is not offered
	TotalRose    bool   // the total is higher than when the form was shown
	Declined     string // error_code of the last attempt; empty: there was none
	AttemptsLeft int    // attempts that are left after a declined one; 0: not shown
}

// IsWrong tells whether the form is refused because of what the payer typed.
func (c Checkout) IsWrong() bool { return len(c.Wrong) > 0 || c.WrongMethod }

// ReloadAfter is the time until the page reloads.
func (c Checkout) ReloadAfter() time.Duration { return c.Left + time.Second }

// Method is a way to pay, or to receive a payout.
type Method struct {
	Type   string   // money_storage type: the value of the form's control
	Total  Sum      // what the payer pays, fee included, or the recipient gets
	Fee    *Sum     // part of Total that is the fee; nil: none
	Fields []string // names of the fields that the payer fills in, other than those of a card
}

// IsCard tells whether the method is a card, whose fields the page knows.
func (m Method) IsCard() bool { return m.Type == "bank_card" }

// TotalField is the name of the hidden field with the method's total, in minor units.
func (m Method) TotalField() string {
	if m.IsCard() {
		return TotalField
	}
	return TotalField + "_" + m.Type
}

// IsChoice tells whether the payer has several methods to choose from.
func (c Checkout) IsChoice() bool { return len(c.Methods) > 1 }

// HasOneTotal tells whether the total does not depend on the method.
func (c Checkout) HasOneTotal() bool {
	return !slices.ContainsFunc(c.Methods, func(m Method) bool { return m.Total != c.Methods[0].Total })
}

// Password asks for a one-time password.
type Password struct {
	Order
	Self  string // the page's own path, where the form posts to
	Step  string
	Left  time.Duration // until the payer can act no more
	Wrong bool          // the payer typed no password
}

// ReloadAfter is the time until the page reloads.
func (p Password) ReloadAfter() time.Duration { return p.Left + time.Second }

// Signature asks for the signature of a payload. It reloads when the payload has expired.
type Signature struct {
	Order
	Self     string // the page's own path, where the form posts to
	Step     string
	Payload  string
	Sequence string        // the payload's number; empty: not shown
	Left     time.Duration // until the payer can act no more
	Wrong    bool          // the payer typed no signature
}

// ReloadAfter is the time until the page reloads.
func (p Signature) ReloadAfter() time.Duration { return p.Left + time.Second }

// Scan shows a QR code: a link for the payer's other device, or an address to pay to. It reloads to show the current
// state.
type Scan struct {
	Order
	Self    string // the page's own path
	Code    Code
	Deposit string        // the address on a chain that the code contains; empty: the code contains a link
	Link    string        // link for a payer without another device, valid by IsWebAddress; empty: none
	Left    time.Duration // until the payer can act no more

	Simulated *SimulatedForm // nil: the provider is a real one
}

// ReloadAfter is the time until the page reloads.
func (Scan) ReloadAfter() time.Duration { return 5 * time.Second }

// SimulatedForm is the form with which the payer tells the provider simulator that the code was
// scanned and paid, so that tests need no second device.
type SimulatedForm struct {
	Post   string
	Fields []Field
}

// Choice asks for the institution that receives a payout.
type Choice struct {
	Order
	Self  string // the page's own path, where the form posts to
	Step  string
	Left  time.Duration // until the recipient can act no more
	Banks []Bank
	Wrong bool // the payer chose none, or one that is not offered
}

// ReloadAfter is the time until the page reloads.
func (c Choice) ReloadAfter() time.Duration { return c.Left + time.Second }

// Bank is a receiving institution.
type Bank struct{ ID, Name string }

// Forward is a form for the provider, which the payer sends with a button.
type Forward struct {
	Order
	Self   string // the page's own path
	Target string // an address that IsWebAddress accepts
	Fields []Field
}

// Field is a hidden field of a form.
type Field struct{ Name, Value string }

// Leaving sends the payer on to Next, a path of the service. It is not a redirect: a browser also checks
// redirects after a form against the Content-Security-Policy of the page that had the form, and Next may
// lead to a site that this policy does not allow.
type Leaving struct {
	Order
	Next  string
	Waits bool   // until the payer presses the button
	Self  string // the page's own path, where the cancel button posts to; only if it waits
}

// Processing is shown while the provider is at work and the payer has nothing to do. It reloads.
type Processing struct {
	Order
	Self string // the page's own path
}

// ReloadAfter is the time until the page reloads.
func (Processing) ReloadAfter() time.Duration { return 3 * time.Second }

// Result is how a transaction ended. The zero value is invalid.
type Result uint8

// The results.
const (
	Done     Result = iota + 1 // settled
	Approved                   // the money is held for the merchant
	NotDone                    // no money moved
	Returned                   // settled, then returned, or on its way back
)

// Outcome shows how the transaction ended, and after a few seconds sends the payer to Back. With Result Returned the order's
// Sum is what was returned, or is on its way back.
type Outcome struct {
	Order
	Result  Result
	Reason  string // an error_code; shown if the pages have a text for it
	Back    string // the merchant's address; empty, or refused by IsWebAddress: no link
	Waits   bool   // the page leads to Back only when the payer presses the button
	Receipt string // path of the receipt; empty: none

	Refunded *Sum // part of a payment that went back to the payer, with Result Done; nil: nothing
}

// Leads tells whether the page leads anywhere.
func (p Outcome) Leads() bool { return IsWebAddress(p.Back) }

// LeavesAfter is the number of seconds after which the page sends the payer to Back.
func (p Outcome) LeavesAfter() int { return 5 }

// Receipt confirms what was paid, or paid out.
type Receipt struct {
	Order
	Number   string    // the transaction's id
	Ended    time.Time // when the money moved
	Result   Result
	Method   string // money_storage type; empty: not known
	Card     string // scheme and last digits of the card; empty: none
	Price    *Sum   // what was sold, without the fee; nil: there was no fee
	Fee      *Sum   // what the payer paid besides
	Refunded *Sum   // what was returned of the sum; nil: nothing
}

// Stop explains why there is nothing else to show.
type Stop struct {
	Shop
	Notice Notice
	InTest bool   // the notice is about something in the test environment
	Back   string // the merchant's address; empty: no link

	// With the notice TooMany:
	Self string        // path of the page on which the person may try again
	Left time.Duration // until the person may try again
}

// Test tells whether the notice is about something in the test environment.
func (s Stop) Test() bool { return s.InTest }

// ReloadAfter is the time until the page goes back to Self.
func (s Stop) ReloadAfter() time.Duration { return s.Left + time.Second }

// Notice is why there is nothing to show. The zero value is invalid.
type Notice uint8

// The notices.
const (
	NotFound    Notice = iota + 1 // unknown, or the token belongs to another page
	Gone                          // the link has expired
	TooLate                       // the time to act has passed
	Malformed                     // the request is not a form of these pages
	Unavailable                   // try again
	Fault                         // a bug of the service
	Closed                        // a payment link or a product that accepts no payments
	TooMany                       // the address has begun too many payments
	NoMethod                      // no method is offered for a payment at present
	StillOpen                     // the link has expired, and the payment may yet be confirmed
)

// IsAboutTime tells whether the notice is about time that has passed, or that has to pass.
func (n Notice) IsAboutTime() bool {
	return n == Gone || n == StillOpen || n == TooLate || n == Unavailable || n == TooMany
}

// IsClosed tells whether nobody can pay here.
func (n Notice) IsClosed() bool { return n == Closed || n == NoMethod }

// Challenge is the simulator's page, on which the payer's bank asks the payer to approve or refuse.
type Challenge struct {
	Order
	Post   string
	Fields []Field
	Open   bool   // true: the payer has not decided yet
	Back   string // the payer's next address if the challenge is not open; empty: none
}

func (Checkout) file() string   { return "checkout" }
func (Password) file() string   { return "password" }
func (Signature) file() string  { return "signature" }
func (Scan) file() string       { return "scan" }
func (Choice) file() string     { return "choice" }
func (Forward) file() string    { return "forward" }
func (Leaving) file() string    { return "leaving" }
func (Processing) file() string { return "processing" }
func (Outcome) file() string    { return "outcome" }
func (Receipt) file() string    { return "receipt" }
func (Stop) file() string       { return "notice" }
func (Challenge) file() string  { return "challenge" }

var allPages = []Page{
	Checkout{}, Password{}, Signature{}, Scan{}, Choice{}, Forward{}, Leaving{}, Processing{}, Outcome{}, Receipt{}, Stop{}, Challenge{}, Offer{},
}
