package view

import (
	"html/template"
	"strings"
	"time"

	"mizan/api/console/texts"
	"mizan/ledger/money"
)

// Frame is the data of a template: the page's own data, and the data that every page has. Its methods format values in the page's
// language.
type Frame struct {
	T       *texts.Texts
	A       any    // the area's texts in the page's language
	Page    any    // the page's own data
	Title   string // title of the page; the layout shows it as the heading, too
	Crumbs  []Crumb
	Problem string // the problem with the form, or why nothing was done; empty: none
	Notice  string // confirms an action; empty: none

	CSRF         string // value of the hidden field csrf of every form
	FormKey      string // value of the hidden field form_key of every form: the idempotency key of its writes
	Person       string // the name of the person who is signed in; empty: nobody is
	Roles        []string
	Organization string

	OrganizationID string
	Menu           []Group
	Path           string // path of the page
	CanSearch      bool
	RequestID      string
}

// Crumb is a link to a page above this one.
type Crumb struct{ Title, Path string }

// Assets returns the addresses of the files that the layout loads.
func (f *Frame) Assets() *AssetPaths { return assetPaths }

// MenuText returns the text of an entry of the menu.
func (f *Frame) MenuText(key string) string { return f.T.Menu[key] }

// GroupText returns the heading of a group of the menu.
func (f *Frame) GroupText(key string) string { return f.T.Groups[key] }

// RoleTexts returns the names of the person's roles.
func (f *Frame) RoleTexts() string {
	names := make([]string, len(f.Roles))
	for i, role := range f.Roles {
		names[i] = f.T.Roles[role]
	}
	return strings.Join(names, ", ")
}

// IsCurrent tells whether a path of the menu is that of the page, or else the nearest one above it.
func (f *Frame) IsCurrent(path string) bool {
	if !f.isAtOrAbove(path) {
		return false
	}
	for _, group := range f.Menu {
		for _, item := range group.Items {
			if len(item.Path) > len(path) && f.isAtOrAbove(item.Path) {
				return false
			}
		}
	}
	return true
}

// isAtOrAbove tells whether a path is that of the page, or of one above it.
func (f *Frame) isAtOrAbove(path string) bool {
	return f.Path == path || path != Root && strings.HasPrefix(f.Path, path+"/")
}

// SignedInAs returns a text with the name of the person who is signed in.
func (f *Frame) SignedInAs() string { return f.T.Fill(f.T.Common.SignedInAs, "name", f.Person) }

// Time writes an instant of the API (RFC 3339) as a <time> element. The result is empty for an empty text. A text that is not an
// instant is written unchanged.
func (f *Frame) Time(instant string) template.HTML { return f.timeAs(instant, f.T.ShortDateTime) }

// Day does what Time does, but writes only the day of an instant or date.
func (f *Frame) Day(instant string) template.HTML { return f.timeAs(instant, f.T.ShortDate) }

func (f *Frame) timeAs(instant string, write func(time.Time) string) template.HTML {
	if instant == "" {
		return ""
	}
	at, err := time.Parse(time.RFC3339Nano, instant)
	if err != nil {
		at, err = time.Parse(time.DateOnly, instant)
	}
	if err != nil {
		return escape(instant)
	}
	return `<time datetime="` + escape(instant) + `">` + escape(write(at)) + `</time>`
}

// Money writes an amount in minor units, as the API sends it, in major units with its currency. A text that is not an amount is
// written unchanged.
func (f *Frame) Money(minor, currency, network string) template.HTML {
	return `<bdi class="money">` + escape(Amount(f.T, minor, currency, network)) + `</bdi>`
}

// Amount does what Money does, but returns plain text.
func Amount(t *texts.Texts, minor, currency, network string) string {
	amount, sign, ok := parseAmount(minor)
	if !ok {
		return minor
	}
	return sign + t.BreakableAmount(amount, money.Asset{Currency: money.Currency(currency), Network: money.Network(network), Env: money.Prod})
}

// Digits writes an amount as Money does, but without its currency, for a column whose heading has the currency.
func (f *Frame) Digits(minor, currency, network string) template.HTML {
	amount, sign, ok := parseAmount(minor)
	if !ok {
		return escape(minor)
	}
	number, _ := f.T.Decimal(amount, money.Asset{Currency: money.Currency(currency), Network: money.Network(network), Env: money.Prod})
	return `<bdi class="money">` + escape(sign+number) + `</bdi>`
}

// parseAmount reads an amount with an optional minus sign. sign is the typographic minus sign, or empty.
func parseAmount(minor string) (amount money.Amount, sign string, ok bool) {
	digits, isNegative := strings.CutPrefix(minor, "-")
	if isNegative {
		sign = "\u2212"
	}
	amount, err := money.ParseBytes([]byte(digits))
	return amount, sign, err == nil
}

// Number formats a number.
func (f *Frame) Number(n int) string { return f.T.Number(n) }

// ID writes an identifier, with a button that copies it if scripts run.
func (f *Frame) ID(id string) template.HTML {
	if id == "" {
		return ""
	}
	return `<code class="id" translate="no" dir="ltr">` + escape(id) + `</code>`
}

// Account writes the path of an account of the ledger. The style sheet writes it from left to right; in a table
// it goes on in another line only after a hyphen.
func (f *Frame) Account(path string) template.HTML {
	return `<code class="path" translate="no">` + escape(path) + `</code>`
}

// YesNo writes a boolean as a word.
func (f *Frame) YesNo(is bool) string {
	if is {
		return f.T.Common.Yes
	}
	return f.T.Common.No
}

func escape(text string) template.HTML { return template.HTML(template.HTMLEscapeString(text)) }
