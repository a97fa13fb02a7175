package page

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"strings"
	"time"

	"mizan/internal/assert"
	"mizan/ledger/money"
)

// Page is one of the pages of this package.
type Page interface {
	file() string // the name of its template's file, without .html
}

// Order is the order that a page shows.
type Order struct {
	Payout   bool // true: the person at the page gets the money; false: the person pays
	Sum      Sum
	Merchant string // the merchant's name; empty: not shown
	Text     string // the merchant's or the terminal's description; empty: none
	Brand    Brand
}

// Branding returns how the page presents the merchant.
func (o Order) Branding() Brand { return o.Brand }

// Test tells whether the order is in the test environment.
func (o Order) Test() bool { return o.Sum.Asset.Env == money.Test }

// Sum is an amount of minor units of an asset.
type Sum struct {
	Amount money.Amount
	Asset  money.Asset
}

// WrongFields has the names of the refused fields of a form.
type WrongFields map[string]bool

// TotalField is the name of the hidden field with the total that the form of a card shows, in minor units.
const TotalField = "total"

// CancelField is the name of the button with which the payer gives up.
const CancelField = "cancel"

// Card asks for a card, or for its number only if the order is a payout.
type Card struct {
	Order
	Post  string      // where the form posts to
	Price *Sum        // what is sold, without the fee; nil: there is no fee
	Fee   *Sum        // what the payer pays besides; the order's Sum includes it
	Wrong WrongFields // by the protocol's names: cardnumber, cardholder, exp_month, exp_year, cvv

	TotalRose bool   // the total is higher than when the form was shown
	Refused   string // the error_code of the attempt before, which was refused; empty: there was none
}

// Password asks for a one-time password.
type Password struct {
	Order
	Post  string
	Wrong bool // the payer typed no password
}

// Signature asks for the signature of a payload. It reloads when the payload has expired.
type Signature struct {
	Order
	Post     string // the form's target, and the page's own path
	Payload  string
	Sequence string        // the payload's number; empty: not shown
	Left     time.Duration // until the payer can act no more
	Wrong    bool          // the payer typed no signature
}

// ReloadAfter is the number of seconds until the page reloads.
func (p Signature) ReloadAfter() int64 { return wholeSeconds(p.Left) + 1 }

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

// SimulatedForm is the form with which the payer tells the provider simulator that the code was
// scanned and paid, so that tests need no second device.
type SimulatedForm struct {
	Post   string
	Fields []Field
}

// Choice asks for the institution that receives a payout.
type Choice struct {
	Order
	Post  string
	Banks []Bank
	Wrong bool // the payer chose none, or one that is not offered
}

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
	Next string
}

// Processing is shown while the provider is at work and the payer has nothing to do. It reloads.
type Processing struct {
	Order
	Self      string // the page's own path
	CanCancel bool   // the payer may still give up
}

// Result is how a transaction ended. The zero value is invalid.
type Result uint8

// The results.
const (
	Done     Result = iota + 1 // settled
	Approved                   // the money is held for the merchant
	NotDone                    // no money moved
	Returned                   // settled, then returned, or on its way back
)

// Outcome shows how the transaction ended, and after a few seconds sends the payer to Back.
type Outcome struct {
	Order
	Result Result
	Reason string // an error_code; shown if the pages have a text for it
	Back   string // the merchant's address; empty, or refused by IsWebAddress: no link
}

// Leads tells whether the page leads anywhere.
func (p Outcome) Leads() bool { return IsWebAddress(p.Back) }

// LeavesAfter is the number of seconds after which the page sends the payer to Back.
func (p Outcome) LeavesAfter() int { return 5 }

// Notice is a page that only explains why there is nothing else to show. The zero value is invalid.
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
)

// Challenge is the simulator's page, on which the payer's bank asks the payer to approve or refuse.
type Challenge struct {
	Order
	Post   string
	Fields []Field
	Open   bool   // true: the payer has not decided yet
	Back   string // the payer's next address if the challenge is not open; empty: none
}

func (Card) file() string       { return "card" }
func (Password) file() string   { return "password" }
func (Signature) file() string  { return "signature" }
func (Scan) file() string       { return "scan" }
func (Choice) file() string     { return "choice" }
func (Forward) file() string    { return "forward" }
func (Leaving) file() string    { return "leaving" }
func (Processing) file() string { return "processing" }
func (Outcome) file() string    { return "outcome" }
func (Notice) file() string     { return "notice" }
func (Challenge) file() string  { return "challenge" }

var allPages = []Page{
	Card{}, Password{}, Signature{}, Scan{}, Choice{}, Forward{}, Leaving{}, Processing{}, Outcome{}, NotFound, Challenge{}, Offer{},
}

//go:embed templates
var templates embed.FS

// style is the one inline style. It must not contain anything that html/template removes.
var style = strings.TrimSpace(readTemplateFile("style.css"))

var pageTemplates = parseTemplates()

func readTemplateFile(name string) string {
	content, err := templates.ReadFile("templates/" + name)
	assert.NoError(err)
	return string(content)
}

// parseTemplates returns the template of each page, by the name of its file.
func parseTemplates() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Parse(readTemplateFile("layout.html")))
	parsedPages := make(map[string]*template.Template, len(allPages))
	for _, p := range allPages {
		pageTemplate := template.Must(layout.Clone())
		parsedPages[p.file()] = template.Must(pageTemplate.Parse(readTemplateFile(p.file() + ".html")))
	}
	return parsedPages
}

// templateData is the data for templates.
type templateData struct {
	T          *texts
	Style      template.CSS
	Brand      Brand
	BrandStyle template.CSS // empty: none
	Page       Page
}

// Render returns the page as an HTML document in UTF-8. lang is a language tag; the page is in
// English if there are no texts for that language. An error means a bug in a template.
func Render(lang string, p Page) ([]byte, error) {
	var out bytes.Buffer
	brand := brandOf(p)
	err := pageTemplates[p.file()].Execute(&out, templateData{T: textsIn(lang), Style: template.CSS(style), Brand: brand, BrandStyle: template.CSS(brand.style()), Page: p})
	return out.Bytes(), err
}

// styleHash is the hash of style in the form in which a policy names it (CSP 3, "hash-source").
var styleHash = hashOf(style)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Policy returns a page's Content-Security-Policy. The page's forms may be posted only to the
// service and to the origins of the targets (addresses that IsWebAddress accepts), and no site may show
// the page in a frame.
func Policy(targets ...string) string {
	policy := commonPolicy + "; frame-ancestors 'none'; form-action 'self'"
	for _, target := range targets {
		if origin := originOf(target); origin != "" {
			policy += " " + origin
		}
	}
	return policy
}

// OfferPolicy returns the Content-Security-Policy of an Offer: that of other pages, with pictures of the service.
func OfferPolicy() string { return Policy() + "; img-src 'self'" }

// SimulatedPolicy returns the Content-Security-Policy of a Scan with the simulator's buttons. It is
// that of a Challenge, except that no site may show the page in a frame.
func SimulatedPolicy() string { return ChallengePolicy() + "; frame-ancestors 'none'" }

// ChallengePolicy returns the Content-Security-Policy of a Challenge. Merchants may show a Challenge
// in a frame. Its form may lead to any address, because a browser applies the policy also to the
// redirects after a form, and these lead back to any merchant.
func ChallengePolicy() string { return commonPolicy + "; form-action 'self' https: http:" }

var commonPolicy = "default-src 'none'; base-uri 'none'; style-src " + styleHash
