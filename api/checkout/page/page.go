package page

import (
	"slices"
	"time"

	"mizan/ledger/money"
)

// Page is the content of one of the pages for payers. Render turns it into HTML.
type Page interface {
	file() string // the name of its template's file, without .html
}

// Shop is what a page shows about the merchant. If it is the zero value, the page shows no merchant.
type Shop struct {
	Merchant string // the merchant's name; if empty, no name is shown
	Brand    Brand
}

// Presented returns the shop itself. Pages that embed a Shop or an Order inherit this method, and shopOf calls it.
func (s Shop) Presented() Shop { return s }

// Order is what most pages show about a transaction: the merchant, the amount and its purpose.
type Order struct {
	Shop
	Payout    bool // the page's visitor receives the money; otherwise the visitor pays
	Sum       Sum
	Text      string // the merchant's or the terminal's description; empty if none
	MayCancel bool   // the visitor of the page may cancel the transaction
}

// Test tells whether the order is in the test environment.
func (o Order) Test() bool { return o.Sum.Asset.Env == money.Test }

// Sum is an amount in minor units of an asset.
type Sum struct {
	Amount money.Amount
	Asset  money.Asset
}

// WrongFields contains the names of the refused fields of a form.
type WrongFields map[string]bool

// Names of a form's fields.
const (
	MethodField = "method" // the money_storage type that the payer chose
	PayField    = "pay"    // sent by the button of a method: its money_storage type, which overrides MethodField
	TotalField  = "total"  // hidden: the total that the form shows for a card, in minor units
	CancelField = "cancel" // the button that cancels the payment
	StepField   = "step"   // hidden: the step at which the form was shown; at another step, the form has no effect
)

// Checkout asks how the payer wants to pay, or how the recipient wants to get a payout: by card, or by another offered method.
type Checkout struct {
	Order
	Self    string            // the page's own path, to which the form is posted
	Step    string            // value of the hidden field StepField of the form
	Items   []Item            // the products of a payment link; empty if none
	Methods []Method          // at least one
	Chosen  int               // index of the chosen method in Methods
	Price   *Sum              // the price without the fee; nil if there is no fee, or if each method shows its own total
	Fee     *Sum              // the fee, which the order's Sum includes
	Wrong   WrongFields       // refused fields, by their names in the API, such as cardnumber or sort_code, and expiry
	Typed   map[string][]byte // typed values that a refused form shows again, by field name
	Left    time.Duration     // time until the page expires
	Brands  []CardBrand       // the card schemes whose names the page shows

	HasExpired   bool   // the typed expiry date is refused because it is in the past
	WrongMethod  bool   // the payer chose no method, or one that is not offered
	TotalRose    bool   // the total is higher than when the form was shown
	Declined     string // error_code of the last attempt; empty if there was no attempt
	AttemptsLeft int    // how many attempts remain after a declined attempt; if 0, the page does not show the number
}

// IsWrong tells whether the form was refused because of what the payer typed or chose.
func (c Checkout) IsWrong() bool { return len(c.Wrong) > 0 || c.WrongMethod }

// ReloadAfter is the time until the page reloads.
func (c Checkout) ReloadAfter() time.Duration { return c.Left + time.Second }

// Method is a way to pay, or to receive a payout.
type Method struct {
	Type   string   // money_storage type, which is also the value of the form's control
	Total  Sum      // the amount that the payer pays, including the fee, or that the recipient gets
	Fee    *Sum     // the fee, which Total includes; nil if none
	Fields []string // names of the fields that the payer fills in, other than those of a card

	WithoutCard bool // the method is a card for which the provider asks on the next page
}

// IsCard tells whether the method is a card.
func (m Method) IsCard() bool { return m.Type == "bank_card" }

// HasCardFields tells whether the page asks for a card. Fields does not list the fields of a card, because they are in the template.
func (m Method) HasCardFields() bool { return m.IsCard() && !m.WithoutCard }

// TotalField is the name of the hidden field with the method's total, in minor units.
func (m Method) TotalField() string {
	if m.IsCard() {
		return TotalField
	}
	return TotalField + "_" + m.Type
}

// IsChoice tells whether the payer has several methods to choose from.
func (c Checkout) IsChoice() bool { return len(c.Methods) > 1 }

// HasOneTotal tells whether the total is the same for all methods.
func (c Checkout) HasOneTotal() bool {
	return !slices.ContainsFunc(c.Methods, func(m Method) bool { return m.Total != c.Methods[0].Total })
}

// Password asks for a one-time password.
type Password struct {
	Order
	Self  string // the page's own path, to which the form is posted
	Step  string
	Left  time.Duration // time that the payer has left to act
	Wrong bool          // the payer typed no password
}

// ReloadAfter is the time until the page reloads.
func (p Password) ReloadAfter() time.Duration { return p.Left + time.Second }

// Signature asks for the signature of a payload. It reloads when the payload has expired.
type Signature struct {
	Order
	Self     string // the page's own path, to which the form is posted
	Step     string
	Payload  string
	Sequence string        // the sequence number of the payload; if empty, the page shows none
	Left     time.Duration // time that the payer has left to act
	Wrong    bool          // the payer typed no signature
}

// ReloadAfter is the time until the page reloads.
func (s Signature) ReloadAfter() time.Duration { return s.Left + time.Second }

// Scan shows a QR code. The code contains a link for the payer's other device, or the blockchain address to which the payer
// pays. The page reloads to show the current state.
type Scan struct {
	Order
	Self    string // the page's own path
	Code    Code
	Deposit string        // the blockchain address in the code; empty if the code contains a link
	Link    string        // link for payers without another device, an address that IsWebAddress accepts; empty if none
	Left    time.Duration // time that the payer has left to act

	Simulated *SimulatedForm // the buttons of the provider simulator; nil if the provider is a real one
}

// ReloadAfter is the time until the page reloads.
func (Scan) ReloadAfter() time.Duration { return 5 * time.Second }

// SimulatedForm is a form that tells the provider simulator that the payer has scanned the code and paid. With it, tests need
// no second device.
type SimulatedForm struct {
	Post   string
	Fields []Field
}

// Choice asks for the institution that receives a payout.
type Choice struct {
	Order
	Self  string // the page's own path, to which the form is posted
	Step  string
	Left  time.Duration // time that the recipient has left to act
	Banks []Bank
	Wrong bool // the recipient chose no institution, or one that is not offered
}

// ReloadAfter is the time until the page reloads.
func (c Choice) ReloadAfter() time.Duration { return c.Left + time.Second }

// Bank is an institution that can receive a payout.
type Bank struct{ ID, Name string }

// ProviderForm shows a button that posts a form with hidden fields to the provider.
type ProviderForm struct {
	Order
	Self   string // the page's own path
	Target string // an address that IsWebAddress accepts
	Fields []Field
}

// Field is a hidden field of a form.
type Field struct{ Name, Value string }

// ContinuePage leads the payer on to Next. It is used instead of a redirect, because browsers check the redirects after a form
// against the Content-Security-Policy of the page with the form, and that policy may not allow the site of Next.
type ContinuePage struct {
	Order
	Next  string
	Waits bool   // the payer must press a button to go on; otherwise the page goes on by itself
	Self  string // URL path of this page, to which the cancel button posts; set only if Waits is true
}

// Processing is shown while the provider processes the transaction and the payer has nothing to do. The page reloads itself.
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
	Approved                   // authorized: the money is held for the merchant
	NotDone                    // no money moved
	Returned                   // settled, and then returned or being returned
)

// Outcome shows how the transaction ended, and after a few seconds sends the payer to Back. If Result is Returned, the order's
// Sum is the amount that was returned or is being returned.
type Outcome struct {
	Order
	Result  Result
	Reason  string // an error_code, which is shown if there is a text for it
	Back    string // the merchant's URL; if it is empty, or refused by IsWebAddress, the page has no link back
	Waits   bool   // the page goes to Back only when the payer presses a button; otherwise it goes by itself
	Receipt string // URL path of the receipt; empty if none

	Refunded *Sum // if Result is Done, the part of a payment that was refunded to the payer; nil if nothing was
}

// Leads tells whether the page has a link to Back.
func (o Outcome) Leads() bool { return IsWebAddress(o.Back) }

// LeavesAfter is the number of seconds after which the page sends the payer to Back.
func (o Outcome) LeavesAfter() int { return 5 }

// Receipt confirms a payment or a payout.
type Receipt struct {
	Order
	Number   string    // the transaction's id
	Ended    time.Time // when the money moved
	Result   Result
	Method   string // money_storage type; empty if unknown
	Card     string // scheme and last digits of the card; empty if none
	Price    *Sum   // the price without the fee; nil if there was no fee
	Fee      *Sum   // the fee, which the order's Sum includes
	Refunded *Sum   // the part of the order's Sum that was returned; nil if nothing was
}

// Stop is the page that explains to a visitor why there is nothing else to show.
type Stop struct {
	Shop
	Notice Notice
	InTest bool   // the notice is about a link or transaction in the test environment
	Back   string // the merchant's URL for the visitor; if empty, the page has no link back

	// The following fields are set if the notice is TooMany.
	Self string        // URL path of the page on which the visitor may try again
	Left time.Duration // time until the visitor may try again
}

// Test tells whether the notice is about a link or transaction in the test environment.
func (s Stop) Test() bool { return s.InTest }

// ReloadAfter is the time until the page goes back to Self.
func (s Stop) ReloadAfter() time.Duration { return s.Left + time.Second }

// Notice is the reason why there is nothing to show. The zero value is invalid.
type Notice uint8

// The notices.
const (
	NotFound    Notice = iota + 1 // the URL is unknown, or its token belongs to another page
	Gone                          // the link has expired
	TooLate                       // the visitor's time to act is over
	Malformed                     // the request was not sent by a form of these pages
	Unavailable                   // the service is overloaded or stopping; the visitor may try again
	Fault                         // a bug of the service
	Closed                        // a payment link or a product that accepts no payments
	TooMany                       // the visitor's IP address has sent too many forms
	NoMethod                      // no method is offered for a payment at present
	StillOpen                     // the link has expired, but the payment may still be confirmed
)

// IsAboutTime tells whether the visitor is too late, or must wait.
func (n Notice) IsAboutTime() bool {
	return n == Gone || n == StillOpen || n == TooLate || n == Unavailable || n == TooMany
}

// IsClosed tells whether the page accepts no payments at all.
func (n Notice) IsClosed() bool { return n == Closed || n == NoMethod }

// Challenge is the simulator's page, on which the payer's bank asks the payer to approve or refuse.
type Challenge struct {
	Order
	Post   string
	Fields []Field
	Open   bool   // the payer has not decided yet
	Back   string // the URL to which the payer goes after the decision; empty if none
}

func (Checkout) file() string     { return "checkout" }
func (Password) file() string     { return "password" }
func (Signature) file() string    { return "signature" }
func (Scan) file() string         { return "scan" }
func (Choice) file() string       { return "choice" }
func (ProviderForm) file() string { return "forward" }
func (ContinuePage) file() string { return "leaving" }
func (Processing) file() string   { return "processing" }
func (Outcome) file() string      { return "outcome" }
func (Receipt) file() string      { return "receipt" }
func (Stop) file() string         { return "notice" }
func (Challenge) file() string    { return "challenge" }

var allPages = []Page{
	Checkout{}, Password{}, Signature{}, Scan{}, Choice{}, ProviderForm{}, ContinuePage{}, Elements{}, Processing{}, Outcome{}, Receipt{}, Stop{}, Challenge{}, Offer{},
}
