package view

import (
	"html/template"
	"strings"
	"time"

	"mizan/api/console/texts"
	"mizan/ledger/money"
)

// Frame is the data for a page's template: the page's own data, and the data that every page has. The methods of Frame format
// values in the page's language.
type Frame struct {
	T       *texts.Texts
	A       any    // the area's texts in the page's language
	Page    any    // the page's own data
	Title   string // title of the page, which the layout also shows as the heading
	Crumbs  []Crumb
	Problem string // what is wrong with the form, or why nothing was done; empty if there is no problem
	Notice  string // a text that confirms an action; empty if there is none

	CSRF         string // value of the hidden field csrf of every form
	FormKey      string // value of the hidden field form_key of every form: the idempotency key of the form's writes
	Person       string // name of the person who is signed in; empty if nobody is
	Roles        []string
	Organization string

	OrganizationID string
	Menu           []Group
	Path           string // path of the page
	CanSearch      bool
	RequestID      string
}

// Crumb is a link to a page above the shown page.
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

// IsCurrent tells whether the menu's entry with this path leads to the shown page. If no entry does, the entry of the nearest
// page above it is the current one.
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

// isAtOrAbove tells whether the path is that of the shown page, or of a page above it.
func (f *Frame) isAtOrAbove(path string) bool {
	return f.Path == path || path != Root && strings.HasPrefix(f.Path, path+"/")
}

// SignedInAs returns a text that says which person is signed in.
func (f *Frame) SignedInAs() string { return f.T.Fill(f.T.Common.SignedInAs, "name", f.Person) }

// Time formats an instant of the API (RFC 3339) as a <time> element. If the text is empty, so is the result. If the text is not
// an instant, it is returned unchanged.
func (f *Frame) Time(instant string) template.HTML { return f.timeAs(instant, f.T.ShortDateTime) }

// Day is like Time, but shows only the day of an instant or date.
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

// Money formats an amount in major units, with its currency. The API sends amounts in minor units. If the text is not an
// amount, it is returned unchanged.
func (f *Frame) Money(minor, currency, network string) template.HTML {
	return `<bdi class="money">` + escape(Amount(f.T, minor, currency, network)) + `</bdi>`
}

// Amount is like Frame.Money, but returns plain text.
func Amount(t *texts.Texts, minor, currency, network string) string {
	amount, sign, ok := parseAmount(minor)
	if !ok {
		return minor
	}
	return sign + t.BreakableAmount(amount, money.Asset{Currency: money.Currency(currency), Network: money.Network(network), Env: money.Prod})
}

// Digits is like Money, but leaves out the currency. It is for columns whose heading names the currency.
func (f *Frame) Digits(minor, currency, network string) template.HTML {
	amount, sign, ok := parseAmount(minor)
	if !ok {
		return escape(minor)
	}
	number, _ := f.T.Decimal(amount, money.Asset{Currency: money.Currency(currency), Network: money.Network(network), Env: money.Prod})
	return `<bdi class="money">` + escape(sign+number) + `</bdi>`
}

// parseAmount reads an amount with an optional minus sign. sign is the typographic minus sign if the amount is negative, and
// otherwise empty.
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

// ID formats an identifier. If scripts run in the browser, they add a button that copies the identifier.
func (f *Frame) ID(id string) template.HTML {
	if id == "" {
		return ""
	}
	return `<code class="id" translate="no" dir="ltr">` + escape(id) + `</code>`
}

// Account formats the path of a ledger account. The style sheet shows the path from left to right, and in a table breaks it
// into lines only after hyphens.
func (f *Frame) Account(path string) template.HTML {
	return `<code class="path" translate="no">` + escape(path) + `</code>`
}

// YesNo returns the word for true or false: yes or no.
func (f *Frame) YesNo(is bool) string {
	if is {
		return f.T.Common.Yes
	}
	return f.T.Common.No
}

func escape(text string) template.HTML { return template.HTML(template.HTMLEscapeString(text)) }
