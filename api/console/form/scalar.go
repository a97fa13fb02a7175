package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"mizan/api/console/apispec"
	"mizan/api/console/labels"
	"mizan/api/web/locale"
	"mizan/ledger/money"
)

// parsed converts a text that a person typed to the JSON value of the field. The text must not be empty. If the text is
// malformed, parsed returns the problem. It leaves the check of lengths and patterns to the API.
func (p *parser) parsed(f *apispec.Field, text string, enclosing scope) (value any, problem string) {
	t := p.form.Texts
	switch f.Kind {
	case apispec.Bool:
		return isTrue(text), ""
	case apispec.Word:
		if !slices.Contains(f.Words, text) && len(text) > maxName {
			return nil, t.Form.BadChoice
		}
	case apispec.Integer:
		digits := withLatinDigits(text)
		if !isJSONInteger(digits) {
			return nil, t.Form.BadNumber
		}
		return json.Number(digits), ""
	case apispec.Decimal:
		number, ok := locale.ParseDecimal(text, t.Separators())
		if !ok {
			return nil, t.Fill(t.Form.BadDecimal, "example", localDecimal(t, "0.92"))
		}
		return number, ""
	case apispec.Amount:
		return p.amount(f, text, enclosing)
	case apispec.Instant:
		at, ok := parseInstant(text)
		if !ok {
			return nil, t.Form.BadInstant
		}
		return at, ""
	case apispec.Day:
		if _, err := time.Parse(time.DateOnly, text); err != nil {
			return nil, t.Form.BadDay
		}
	case apispec.Object, apispec.List:
		return parseJSON(text, t)
	}
	return text, ""
}

// maxInteger is the length in bytes of the longest integer that a form accepts. The longest int64, with its sign, has this
// length.
const maxInteger = 20

// isJSONInteger tells whether a text is a whole number in the notation of JSON.
func isJSONInteger(text string) bool {
	digits := strings.TrimPrefix(text, "-")
	isWhole := digits != "" && strings.Trim(digits, "0123456789") == "" && (digits == "0" || digits[0] != '0')
	return isWhole && len(text) <= maxInteger && text != "-0"
}

// withLatinDigits replaces the digits of other scripts by 0–9.
func withLatinDigits(text string) string {
	return strings.Map(func(r rune) rune {
		if digit := locale.LatinDigit(r); digit != 0 {
			return rune(digit)
		}
		return r
	}, text)
}

// isTrue tells whether the value of a check box or a choice means true.
func isTrue(text string) bool {
	switch strings.ToLower(text) {
	case "true", "on", "1", "yes":
		return true
	}
	return false
}

// amount reads an amount.
func (p *parser) amount(f *apispec.Field, text string, enclosing scope) (value any, problem string) {
	t := p.form.Texts
	asset, _ := enclosing.asset()
	if !enclosing.hasCurrency() {
		digits := withLatinDigits(text)
		if _, err := money.Parse(digits); err != nil {
			return nil, t.Form.BadNumber
		}
		return amountValue(f, digits), ""
	}
	scale, known := asset.Scale()
	if !known {
		return nil, t.Form.NoCurrency
	}
	sign := ""
	if rest, isNegative := strings.CutPrefix(strings.Replace(text, "−", "-", 1), "-"); isNegative && f.Negative {
		sign, text = "-", rest
	}
	amount, wrong := locale.ParseAmount(text, t.Separators(), asset)
	switch wrong {
	case 0:
		return amountValue(f, sign+amount.String()), ""
	case locale.AmountTooPrecise:
		return nil, t.Fill(t.Form.TooPrecise, "n", t.Number(scale))
	case locale.AmountTooHigh:
		return nil, t.Form.TooHigh
	}
	example, _ := t.Ungrouped(money.FromUint64(exampleMinor), money.Asset{Currency: "USD", Env: money.Prod})
	return nil, t.Fill(t.Form.BadAmount, "example", example)
}

// exampleMinor is the amount, in cents, that error messages show as an example.
const exampleMinor = 1250

// amountValue returns an amount in minor units as the JSON value of the field: a number or a text.
func amountValue(f *apispec.Field, minor string) any {
	if f.Numeric {
		return json.Number(minor)
	}
	return minor
}

// instantLayouts are the forms in which browsers and people write an instant in UTC.
var instantLayouts = []string{"2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02T15:04:05.999999", "2006-01-02 15:04", "2006-01-02 15:04:05", time.RFC3339Nano}

// parseInstant reads an instant, and returns it in the API's format.
func parseInstant(text string) (at string, ok bool) {
	for _, layout := range instantLayouts {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC().Format(time.RFC3339Nano), true
		}
	}
	return "", false
}

// parseJSON reads any JSON value.
func parseJSON(text string, t *labels.Texts) (value any, problem string) {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil, t.Form.BadJSON
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, t.Form.BadJSON
	}
	return value, ""
}

// editText returns a stored value as the text that a control shows for editing.
func (f *Form) editText(field *apispec.Field, value any, enclosing scope) string {
	switch v := value.(type) {
	case nil:
		return ""
	case bool:
		return strconv.FormatBool(v)
	case string:
		return f.localText(field, v, enclosing)
	case json.Number:
		if field.Kind == apispec.Amount {
			return f.localText(field, v.String(), enclosing)
		}
		return v.String()
	case []any:
		if field.Kind == apispec.List && !isObject(field.Entry) {
			return joinLines(v)
		}
	}
	return Indented(value)
}

// localText formats an amount or a decimal for the language of the page, and an instant for its control.
func (f *Form) localText(field *apispec.Field, text string, enclosing scope) string {
	switch field.Kind {
	case apispec.Amount:
		minor, sign := strings.TrimPrefix(text, "-"), text[:len(text)-len(strings.TrimPrefix(text, "-"))]
		asset, _ := enclosing.asset()
		amount, err := money.Parse(minor)
		if _, known := asset.Scale(); err == nil && known {
			number, _ := f.Texts.Ungrouped(amount, asset)
			return sign + number
		}
	case apispec.Decimal:
		return localDecimal(f.Texts, text)
	case apispec.Instant:
		if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
			return at.UTC().Format("2006-01-02T15:04:05")
		}
	}
	return text
}

// localDecimal replaces the decimal point by the decimal separator of the language.
func localDecimal(t *labels.Texts, number string) string {
	return strings.Replace(number, ".", string(t.Separators().Decimal), 1)
}

// joinLines writes each entry of a list on a line.
func joinLines(list []any) string {
	var lines []string
	for _, entry := range list {
		lines = append(lines, fmt.Sprint(entry))
	}
	return strings.Join(lines, "\n")
}

// Indented writes a value as indented JSON.
func Indented(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if encoder.Encode(value) != nil {
		return ""
	}
	return strings.TrimSpace(text.String())
}

func number(n int) string { return strconv.Itoa(n) }

// defaultText returns a field's default as the text of its control.
func defaultText(f *apispec.Field) string {
	if f.Default == nil {
		return ""
	}
	return fmt.Sprint(f.Default)
}
