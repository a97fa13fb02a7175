package page

import (
	"html/template"
	"strings"
	"time"
)

// Elements is the page on which the payer gives the card to Stripe: its fields are in frames of Stripe's site, so that the number
// never reaches this service. It is the only page that loads a script of another site.
type Elements struct {
	Order
	Self   string
	Left   time.Duration // time until the payer's deadline
	Key    string        // the publishable key of the merchant's account
	Secret string        // Stripe's secret of the payment, with which only this payment can be confirmed
	Return string        // address to which Stripe sends the payer afterwards
}

func (Elements) file() string { return "elements" }

// ReloadAfter is the time after which the page is requested again.
func (e Elements) ReloadAfter() time.Duration { return e.Left + time.Second }

// stripeLibrary is the address of Stripe's script. Stripe does not permit to serve a copy of it.
const stripeLibrary = "https://js.stripe.com/v3/"

// elementsScript is the page's own second script, and elementsHash its hash.
var (
	elementsScript = strings.TrimSpace(readTemplateFile("elements.js"))
	elementsHash   = hashOf(elementsScript)
)

// Library returns the address of Stripe's script.
func (Elements) Library() string { return stripeLibrary }

// Script returns the script that shows the fields.
func (Elements) Script() template.JS { return template.JS(elementsScript) }

// elementsPolicy has the directives that Stripe's script needs (docs.stripe.com/security/guide, "Content Security Policy"). The script
// does not promise to use trusted types.
var elementsPolicy = map[string]string{
	"script-src":  scriptHash + " " + elementsHash + " https://js.stripe.com https://*.js.stripe.com",
	"frame-src":   "https://js.stripe.com https://*.js.stripe.com https://hooks.stripe.com",
	"connect-src": "https://api.stripe.com",
	"img-src":     "'self' https://*.stripe.com",
}
