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
type Page interface{ file() string }

// Order is what a page is about.
type Order struct {
	Payout   bool // the reader is paid; else the reader pays
	Sum      Sum
	Merchant string // its name; empty: not shown
	Text     string // what the merchant, or the terminal, says of it; empty: nothing
}

// Test tells whether it is play money.
func (o Order) Test() bool { return o.Sum.Asset.Env == money.Test }

// Sum is an amount of minor units of an asset.
type Sum struct {
	Amount money.Amount
	Asset  money.Asset
}

// Wrong names the fields of a form that were refused.
type Wrong map[string]bool

// Card asks for a card; for a payout its number is enough.
type Card struct {
	Order
	Post  string // where the form posts to
	Wrong Wrong  // by the protocol's names: cardnumber, cardholder, exp_month, exp_year, cvv
}

// Password asks for a one-time password.
type Password struct {
	Order
	Post  string
	Wrong bool // none was typed
}

// Signature asks for the signature of a payload. It asks again by itself when that can't
// be signed any more.
type Signature struct {
	Order
	Post     string // where the form posts to, and the page's own path
	Payload  string
	Sequence string // its number; empty: not shown
	Left     time.Duration
	Wrong    bool // none was typed
}

// Again is when the page asks again: seconds.
func (p Signature) Again() int64 { return wholeSeconds(p.Left) + 1 }

// Scan shows a QR code to be scanned with another device, or paid by, and asks again by
// itself how it stands.
type Scan struct {
	Order
	Self    string // the page's own path
	Code    Code
	Deposit string // the address on a chain that the code is of; empty: it is of a link
	Link    string // where it goes on without another device, which Web accepts; empty: nowhere
	Left    time.Duration

	Simulated *Simulated // nil: the rail is a real one
}

// Simulated is the form that tells the simulator's rail that the code was scanned and
// paid: its challenge, for tests without a second device.
type Simulated struct {
	Post   string
	Fields []Field
}

// Choice asks which institution is to receive a payout.
type Choice struct {
	Order
	Post  string
	Banks []Bank
	Wrong bool // none was chosen, or one that is not offered
}

// Bank is a receiving institution.
type Bank struct{ ID, Name string }

// Forward is a form of the rail's own, which the payer sends with a button.
type Forward struct {
	Order
	Target string // an address that Web accepts
	Fields []Field
}

// Field is a hidden field of a form.
type Field struct{ Name, Value string }

// Leaving sends the payer on to Next, a path of the service. A browser would
// take a redirect for the end of the form that came before, and the policy of
// that form's page may not allow where it leads.
type Leaving struct {
	Order
	Next string
}

// Processing says that the payer has nothing to do. It asks again by itself.
type Processing struct {
	Order
	Self string // the page's own path
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

// Outcome says how it ended.
type Outcome struct {
	Order
	Result Result
	Reason string // an error_code; shown if the payer can do something with it
	Back   string // the merchant's address, which Web accepts; empty: no link
}

// Notice says why there is nothing else to see. The zero value is invalid.
type Notice uint8

// The notices.
const (
	NotFound    Notice = iota + 1 // unknown, or the token is not its own
	Gone                          // the link's time is over
	TooLate                       // the time to act is over
	Malformed                     // what was sent is no form of ours
	Unavailable                   // try again
	Fault                         // our own
)

// Challenge is the simulator's page: the payer's bank asks for an answer.
type Challenge struct {
	Order
	Post   string
	Fields []Field
	Open   bool   // an answer is awaited; else it was given
	Back   string // where the payer goes if it is not open; empty: nowhere
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

var all = []Page{
	Card{}, Password{}, Signature{}, Scan{}, Choice{}, Forward{}, Leaving{}, Processing{}, Outcome{}, NotFound, Challenge{},
}

//go:embed templates
var templates embed.FS

// style is the one inline style; it must not hold what html/template strips.
var style = strings.TrimSpace(read("style.css"))

var parsed = parse()

func read(name string) string {
	content, err := templates.ReadFile("templates/" + name)
	assert.NoError(err)
	return string(content)
}

// parse makes of each page's file a document of its own.
func parse() map[string]*template.Template {
	layout := template.Must(template.New("layout.html").Parse(read("layout.html")))
	set := make(map[string]*template.Template, len(all))
	for _, p := range all {
		one := template.Must(layout.Clone())
		set[p.file()] = template.Must(one.Parse(read(p.file() + ".html")))
	}
	return set
}

// view is what templates see.
type view struct {
	T     *texts
	Style template.CSS
	Page  Page
}

// Render is the page as an HTML document in UTF-8. lang is a language tag; what
// there is no catalogue for is English. The error is a mistake of a template.
func Render(lang string, p Page) ([]byte, error) {
	var out bytes.Buffer
	err := parsed[p.file()].Execute(&out, view{T: textsIn(lang), Style: template.CSS(style), Page: p})
	return out.Bytes(), err
}

// styleHash is the style's, as a policy names it (CSP 3, "hash-source").
var styleHash = hashOf(style)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// Policy is a page's Content-Security-Policy. Its forms may only be posted to
// the service itself and to the origins of the targets (addresses that Web
// accepts), and no site may show it in a frame.
func Policy(targets ...string) string {
	policy := base + "; frame-ancestors 'none'; form-action 'self'"
	for _, target := range targets {
		if origin := originOf(target); origin != "" {
			policy += " " + origin
		}
	}
	return policy
}

// SimulatedPolicy is the Content-Security-Policy of a Scan with the simulator's buttons:
// as ChallengePolicy, and no site may show it in a frame.
func SimulatedPolicy() string { return ChallengePolicy() + "; frame-ancestors 'none'" }

// ChallengePolicy is the Content-Security-Policy of a Challenge: merchants show
// it in frames, and its form leads back to whichever merchant there is. A browser
// counts the redirects after a form as the form's own.
func ChallengePolicy() string { return base + "; form-action 'self' https: http:" }

var base = "default-src 'none'; base-uri 'none'; style-src " + styleHash
