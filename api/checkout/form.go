package checkout

import (
	"bytes"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	paymentactor "mizan/actors/payment"
	"mizan/api/checkout/page"
	"mizan/api/web"
	"mizan/api/web/credentials"
	"mizan/internal/secret"
	"mizan/internal/steps"
	"mizan/ledger/payment"
	"mizan/ledger/schema"
)

// Limits for the forms that payers send.
const (
	maxFormFields    = 64      // enough for the totals and fields of all methods
	maxPassword      = 64      // bytes of a one-time password
	maxSignature     = 8 << 10 // bytes of a signature
	maxBrowserHeader = 512     // bytes that are used of each header that describes the browser
)

// formFields are the decoded fields of a form. They share one buffer, which wipe overwrites.
type formFields struct {
	buf    []byte
	fields []formField
}

type formField struct{ name, value []byte }

// readForm parses a form (application/x-www-form-urlencoded, URL Standard 5.1). If the body has another media type, the status
// is 415. If the form is malformed (invalid UTF-8, a repeated name or too many fields), the status is 400. Otherwise it is 200.
func readForm(contentType, body []byte) (f *formFields, status int) {
	switch {
	case len(body) == 0:
		return &formFields{}, fiber.StatusOK
	case !isForm(contentType):
		return nil, fiber.StatusUnsupportedMediaType
	}
	f = &formFields{buf: make([]byte, 0, len(body))}
	for pair := range bytes.SplitSeq(body, []byte{'&'}) {
		if len(pair) > 0 && !f.addPair(pair) {
			f.wipe()
			return nil, fiber.StatusBadRequest
		}
	}
	return f, fiber.StatusOK
}

// isForm tells whether a content type is that of a form encoded in UTF-8.
func isForm(contentType []byte) bool {
	kind, parameter, more := strings.Cut(string(contentType), ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
		return false
	}
	name, charset, _ := strings.Cut(strings.TrimSpace(parameter), "=")
	return !more || strings.EqualFold(name, "charset") && strings.EqualFold(strings.Trim(charset, `"`), "utf-8")
}

func (f *formFields) addPair(pair []byte) bool {
	if len(f.fields) == maxFormFields {
		return false
	}
	nameText, valueText, _ := bytes.Cut(pair, []byte{'='})
	name, ok := f.unescape(nameText)
	if !ok || f.value(string(name)) != nil {
		return false
	}
	value, ok := f.unescape(valueText)
	f.fields = append(f.fields, formField{name, value})
	return ok
}

// unescape decodes text into the form's buffer. The buffer's capacity is the length of the request's body, so append never
// reallocates the buffer. A reallocation would leave behind a copy of the values that the payer typed, which nothing would
// overwrite.
func (f *formFields) unescape(text []byte) ([]byte, bool) {
	from := len(f.buf)
	steps.Add(len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch c {
		case '+':
			c = ' '
		case '%':
			if i+2 >= len(text) {
				return nil, false
			}
			high, low := hexDigit(text[i+1]), hexDigit(text[i+2])
			if high < 0 || low < 0 {
				return nil, false
			}
			c, i = byte(high<<4|low), i+2
		}
		f.buf = append(f.buf, c)
	}
	decoded := f.buf[from:len(f.buf):len(f.buf)]
	return decoded, utf8.Valid(decoded)
}

func hexDigit(c byte) int { return strings.IndexByte("0123456789abcdef", c|0x20) }

// value returns a field's value. If the field was not sent, value returns nil.
func (f *formFields) value(name string) []byte {
	for _, field := range f.fields {
		steps.Add(min(len(field.name), len(name)) + 1)
		if string(field.name) == name {
			return field.value
		}
	}
	return nil
}

// wipe overwrites the values that the payer typed.
func (f *formFields) wipe() { clear(f.buf[:cap(f.buf)]) }

// credentialsOf returns the command that continues a transaction with the values that the payer typed into the form of a
// payment method. If values are wrong, credentialsOf returns the names of their fields instead. The values must satisfy the
// rules for the API's field money_storage. The fields of other methods are not read. The command contains a copy of the card,
// so the form may be wiped afterwards.
func credentialsOf(f *formFields, r *record, method string, fingerprint func([]byte) string) (command paymentactor.Continue, wrongFields page.WrongFields) {
	var storage credentials.MoneyStorage
	keys, scheme, _ := payment.RequiredKeys(method, r.Type, r.Asset.Currency)
	storage.Storage.Type = []byte(method)
	if scheme != "" {
		storage.Storage.Scheme = []byte(scheme)
	}
	for _, key := range keys {
		*storage.Storage.Key([]byte(key)) = typedKey(f, key)
	}
	wrongFields = page.WrongFields{}
	storage.Storage.Check(r.Type, func(key, _ string) { wrongFields[fieldOf(key)] = true })
	if len(wrongFields) > 0 {
		return command, wrongFields
	}
	storage.KeepCredentials(r.Type, fingerprint)
	command.Credentials, command.Card = storage.Credentials, storage.Card
	return command, nil
}

// hasExpired tells whether a card's expiry month has passed in every time zone. If there is no card, or if the card has no
// expiry date (like the card of a payout), it returns false.
func hasExpired(card *secret.Card, now time.Time) bool {
	if card == nil {
		return false
	}
	month, monthErr := strconv.Atoi(string(card.ExpMonth))
	year, yearErr := strconv.Atoi(string(card.ExpYear))
	if year < 100 {
		year += 2000
	}
	const latest = 12 * time.Hour // how far the westernmost time zone is behind UTC
	return monthErr == nil && yearErr == nil && time.Date(year, time.Month(month)+1, 1, 0, 0, 0, 0, time.UTC).Add(latest).Before(now)
}

// browserDataOf returns the API's JSON object browser_data, which describes the payer's browser. Its values come from the
// request's headers.
func browserDataOf(h *fasthttp.RequestHeader) []byte {
	language, _, _ := strings.Cut(acceptedLanguages(h), ",")
	language, _, _ = strings.Cut(language, ";")
	data := append([]byte(nil), `{"language":`...)
	data = schema.AppendText(data, web.Truncate([]byte(strings.ToValidUTF8(strings.TrimSpace(language), "")), maxBrowserHeader))
	data = append(data, `,"user_agent":`...)
	data = schema.AppendText(data, web.Truncate([]byte(strings.ToValidUTF8(string(h.UserAgent()), "")), maxBrowserHeader))
	return append(data, '}')
}
