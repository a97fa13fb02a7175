package page

import (
	"encoding/json"
	"html/template"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"mizan/api/checkout/texts"
	"mizan/api/web/locale"
	"mizan/internal/assert"
	"mizan/ledger/money"
	"mizan/ledger/schema"
)

// view is the data for a page's template. Its methods return parts of the page that must be formatted, or combined from several
// texts.
type view struct {
	T          *texts.Texts
	Style      template.CSS
	Script     template.JS
	Shop       Shop
	BrandStyle template.CSS // empty if none
	Page       Page
}

// IsTest tells whether the page belongs to a transaction in the test environment.
func (v view) IsTest() bool {
	order, hasOrder := v.Page.(interface{ Test() bool })
	return hasOrder && order.Test()
}

// Initial is shown in place of a logo. It is the first letter or digit of the merchant's name or, if the name has none, its
// first visible character.
func (v view) Initial() string {
	visible := ""
	for _, r := range v.Shop.Merchant {
		switch {
		case schema.IsBlank(string(r)):
		case unicode.IsLetter(r), unicode.IsNumber(r):
			return strings.ToUpper(string(r))
		case visible == "":
			visible = string(r)
		}
	}
	return visible
}

// Sum formats an amount for people, in the page's language. An amount that may be too long for one line may be broken between
// the number and the currency.
func (v view) Sum(s Sum) string {
	if text := v.T.Amount(s.Amount, s.Asset); utf8.RuneCountInString(text) <= longNumber {
		return text
	}
	return v.T.BreakableAmount(s.Amount, s.Asset)
}

// sumInText formats an amount for a sentence or a button. Only a long amount may break across lines.
func (v view) sumInText(s Sum) string {
	if v.SumClass(s) != "" {
		return v.Sum(s)
	}
	return v.T.Amount(s.Amount, s.Asset)
}

// How many characters of a number or an amount fit into one line of a page that is 320 pixels wide.
const (
	longNumber    = 12 // at the normal font size
	longestNumber = 20 // at the font size of the CSS class long
)

// SumClass returns the CSS class that makes the font of a long amount so small that the number fits into one line. For other
// amounts, it returns an empty string.
func (v view) SumClass(s Sum) string {
	number, _ := v.T.Decimal(s.Amount, s.Asset)
	switch length := utf8.RuneCountInString(number); {
	case length > longestNumber:
		return "longest"
	case length > longNumber:
		return "long"
	}
	return ""
}

// Plain formats an amount for copying and pasting: digits and a decimal point, without the currency.
func (v view) Plain(s Sum) string {
	number, _ := s.number()
	return number
}

// Label formats the name before a value: it adds a colon in the way of the page's language.
func (v view) Label(name string) string { return v.T.Fill(v.T.Common.Label, "name", name) }

// Seconds returns a remaining time in whole seconds. It rounds down, so that a page never shows more time than is left.
func (v view) Seconds(d time.Duration) int64 { return int64(d / time.Second) }

// Left formats a remaining time.
func (v view) Left(d time.Duration) string { return v.T.Left(d) }

// Count formats a number together with the plural form that it needs.
func (v view) Count(forms locale.Plural, n int) string { return v.T.Count(forms, n) }

// Pieces formats a number of pieces.
func (v view) Pieces(i Item) string { return v.T.Count(v.T.Offer.Pieces, i.Pieces()) }

// Forms returns the plural forms of a text as a JSON object for the script. The keys are the CLDR names of the forms, such as
// "one" and "other".
func (v view) Forms(forms locale.Plural) string { return toJSON(forms) }

func toJSON(value any) string {
	text, err := json.Marshal(value)
	assert.NoError(err)
	return string(text)
}

// payoutReasons are the failure codes for which the recipient of a payout sees a text. The texts for other codes make sense
// only for a payer.
var payoutReasons = []string{"card_declined", "expired_card", "payer_action_expired"}

// Reason returns the text for a failure code. If the page's visitor must not see the reason, the text is empty.
func (v view) Reason(code string, payout bool) string {
	if payout && !slices.Contains(payoutReasons, code) {
		return ""
	}
	return v.T.Reasons[code]
}

// Notice returns the title and the body of a Stop page.
func (v view) Notice() texts.Notice {
	n := &v.T.Notices
	return map[Notice]texts.Notice{
		NotFound: n.NotFound, Gone: n.Gone, StillOpen: {Title: n.Gone.Title, Body: n.StillOpen}, TooLate: n.TooLate, Malformed: n.Malformed, Unavailable: n.Unavailable, Fault: n.Fault,
		Closed: n.Closed, TooMany: n.TooMany, NoMethod: {Title: v.T.Checkout.Title, Body: v.T.Checkout.NoMethod},
	}[v.Page.(Stop).Notice]
}

// Suggested returns the initial text of the amount field of an Offer. It is the text that the payer typed before, if that is
// shown again, and otherwise the suggested amount.
func (v view) Suggested() string {
	o := v.Page.(Offer)
	if o.Typed != "" || o.Problem != 0 || o.Sum.Amount.IsZero() {
		return o.Typed
	}
	number, _ := v.T.Ungrouped(o.Sum.Amount, o.Sum.Asset)
	return number
}

// AmountLabel is the label of the amount field of an Offer.
func (v view) AmountLabel() string {
	return v.T.Fill(v.T.Offer.EnterAmount, "currency", string(v.Page.(Offer).Sum.Asset.Currency))
}

// exampleAmount is the amount that an error shows as an example, in minor units.
var exampleAmount = money.MustParse("1250")

// AmountHint tells the payer which amounts may be entered. If the amount has no bounds, the hint is empty.
func (v view) AmountHint() string {
	o := v.Page.(Offer)
	var sentences []string
	if !o.Min.IsZero() {
		sentences = append(sentences, v.T.Fill(v.T.Offer.AmountAtLeast, "amount", v.sumInText(Sum{o.Min, o.Sum.Asset})))
	}
	if !o.Max.IsZero() {
		sentences = append(sentences, v.T.Fill(v.T.Offer.AmountAtMost, "amount", v.sumInText(Sum{o.Max, o.Sum.Asset})))
	}
	return strings.Join(sentences, " ")
}

// AmountRefusal says why the amount that a payer typed is refused.
func (v view) AmountRefusal() string {
	o := v.Page.(Offer)
	switch o.Problem {
	case locale.AmountMissing:
		return v.T.Offer.AmountMissing
	case locale.AmountTooLow:
		return v.T.Fill(v.T.Offer.AmountAtLeast, "amount", v.sumInText(Sum{o.Min, o.Sum.Asset}))
	case locale.AmountTooHigh:
		return v.T.Fill(v.T.Offer.AmountAtMost, "amount", v.sumInText(Sum{o.Max, o.Sum.Asset}))
	}
	example, _ := v.T.Decimal(exampleAmount, o.Sum.Asset)
	if o.Problem == locale.AmountTooPrecise {
		return v.T.Fill(v.T.Offer.AmountTooPrecise, "example", example)
	}
	return v.T.Fill(v.T.Offer.AmountMalformed, "example", example)
}

// CheckoutTitle is the title of a Checkout.
func (v view) CheckoutTitle() string {
	c := v.Page.(Checkout)
	switch {
	case c.Merchant == "":
		return textFor(c.Payout, v.T.Checkout.PayoutTitle, v.T.Checkout.Title)
	case c.Payout:
		return v.T.Fill(v.T.Common.PayoutFrom, "merchant", c.Merchant)
	}
	return v.T.Fill(v.T.Common.PayTo, "merchant", c.Merchant)
}

// Again tells a payer whose last attempt was declined what to try next.
func (v view) Again() string {
	c, t := v.Page.(Checkout), &v.T.Checkout
	switch {
	case c.Methods[c.Chosen].IsCard():
		return t.TryAnotherCard
	case c.IsChoice():
		return t.TryAnotherWay
	}
	return t.TryAgain
}

// ExpiryRefusal says why the expiry date that a payer typed is refused.
func (v view) ExpiryRefusal() string {
	if v.Page.(Checkout).HasExpired {
		return v.T.Reasons["expired_card"]
	}
	return v.T.Checkout.WrongExpiry
}

// PayText returns the text of the button that pays a total (or, for a payout, receives it).
func (v view) PayText(total Sum) string {
	checkout, isCheckout := v.Page.(Checkout)
	isPayout := isCheckout && checkout.Payout
	return v.T.Fill(textFor(isPayout, v.T.Checkout.Receive, v.T.Checkout.Pay), "amount", v.sumInText(total))
}

// MethodName returns the name of a payment method that payers see. kind is a money_storage type.
func (v view) MethodName(kind string) string {
	if shared := sharedNames[kind]; shared != "" {
		kind = shared
	}
	if name := v.T.Methods[kind]; name != "" {
		return name
	}
	return properNames[kind]
}

// Brands returns the ranges of card numbers and their schemes as a JSON list for the script.
func (v view) Brands() string {
	var ranges [][3]any
	for _, b := range v.Page.(Checkout).Brands {
		ranges = append(ranges, [3]any{b.From, b.To, BrandName(b.Name)})
	}
	return toJSON(ranges)
}

// bankField is a field of a method other than a card.
type bankField struct {
	Name, Label, Value, Wrong string
	IsWrong, IsRequired       bool
}

// Field returns the named field of a method other than a card.
func (v view) Field(name string) bankField {
	c, t := v.Page.(Checkout), &v.T.Checkout
	labels := map[string]string{
		"account_number": t.AccountNumber, "routing_number": t.RoutingNumber, "sort_code": t.SortCode,
		"institution_number": t.InstitutionNumber, "transit_number": t.TransitNumber,
	}
	return bankField{Name: name, Label: labels[name], Value: v.Typed(name), Wrong: t.WrongField, IsWrong: c.Wrong[name], IsRequired: !c.IsChoice()}
}

// ending contains the texts that tell how a transaction ended.
type ending struct {
	Class     string // CSS class: good, bad or back
	Title     string
	Sentences []string
}

// Outcome tells how the transaction of an Outcome ended.
func (v view) Outcome() ending {
	o := v.Page.(Outcome)
	t := &v.T.Outcome
	switch o.Result {
	case Done:
		return ending{Class: "good", Title: textFor(o.Payout, t.PaidOut, t.Paid)}
	case Approved:
		return ending{Class: "good", Title: t.Approved, Sentences: sentences(o.Payout, "", t.ApprovedHint)}
	case Returned:
		return ending{Class: "back", Title: t.Returned, Sentences: sentences(o.Payout, "", t.ReturnedHint)}
	}
	end := ending{Class: "bad", Title: textFor(o.Payout, t.FailedPayout, t.Failed)}
	reason := v.Reason(o.Reason, o.Payout)
	if reason != "" {
		end.Sentences = append(end.Sentences, reason)
	}
	end.Sentences = append(end.Sentences, sentences(o.Payout, "", t.NothingCharged)...)
	if reason == "" {
		end.Sentences = append(end.Sentences, sentences(o.Payout, "", t.AnotherWay)...)
	}
	return end
}

// sentences returns payoutText for a payout, and paymentText for a payment. If that text is empty, it returns nil.
func sentences(payout bool, payoutText, paymentText string) []string {
	if text := textFor(payout, payoutText, paymentText); text != "" {
		return []string{text}
	}
	return nil
}

func textFor(payout bool, payoutText, paymentText string) string {
	if payout {
		return payoutText
	}
	return paymentText
}

// ReceiptTitle is the title of a Receipt.
func (v view) ReceiptTitle() string {
	return textFor(v.Page.(Receipt).Payout, v.T.Receipt.PayoutTitle, v.T.Receipt.Title)
}

// row is a row of a Receipt.
type row struct{ Name, Value string }

// ReceiptRows are the rows of a Receipt.
func (v view) ReceiptRows() (rows []row) {
	r, t := v.Page.(Receipt), &v.T.Receipt
	add := func(name, value string) {
		if value != "" {
			rows = append(rows, row{name, value})
		}
	}
	addSum := func(name string, s *Sum) {
		if s != nil {
			add(name, v.Sum(*s))
		}
	}
	add(t.Merchant, r.Merchant)
	add(t.Date, v.T.Date(r.Ended))
	add(t.Status, v.statusOf(r))
	method := ""
	if r.Method != "" {
		method = v.MethodName(r.Method)
	}
	if r.Card != "" {
		method += " " + v.T.Fill("{card}", "card", r.Card) // Fill isolates the direction of the text, so that the last digits follow the dots
	}
	add(textFor(r.Payout, t.PaidTo, t.PaidWith), strings.TrimSpace(method))
	addSum(v.T.Common.Price, r.Price)
	addSum(v.T.Common.Fee, r.Fee)
	addSum(t.Refunded, r.Refunded)
	add(t.Number, r.Number)
	return rows
}

// statusOf returns the text on a receipt that tells the transaction's state.
func (v view) statusOf(r Receipt) string {
	if r.Result == Returned {
		return v.T.Outcome.Returned
	}
	return textFor(r.Payout, v.T.Outcome.PaidOut, v.T.Outcome.Paid)
}
