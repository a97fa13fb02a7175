package client

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mizan/ledger/money"
)

// amountNames are the names of JSON members that are always amounts in minor units. Payment links contain an object with the
// name amount; in that object the members default, min and max are amounts too.
var amountNames = nameSet("amount amount_with_fee amount_dest merchant_amount fee_amount refunded_amount gross fee max_amount price" +
	" used reserved remaining balance available pending debits_posted credits_posted debits_pending credits_pending debit credit")

var amountsOfObject = nameSet("default min max")

func nameSet(names string) map[string]bool {
	set := make(map[string]bool)
	for _, name := range strings.Fields(names) {
		set[name] = true
	}
	return set
}

// isAmount returns whether a member of a JSON object is an amount. name is the name of the member, and outer is the name of the
// object.
func isAmount(outer, name string) bool {
	return amountNames[name] || outer == "amount" && amountsOfObject[name]
}

// majorAmount converts an amount to major units of its asset. objects are the object that contains the amount, and the objects
// around it, the innermost first. The first object that names an asset determines the asset. ok is false if the value is not a
// number, or if the asset's number of decimals is unknown.
func majorAmount(name string, value jsontext.Value, objects []Object) (text string, ok bool) {
	minor := value.String()
	if value.Kind() == '"' {
		unquoted, err := jsontext.AppendUnquote(nil, value)
		if err != nil {
			return "", false
		}
		minor = string(unquoted)
	}
	suffix := ""
	if strings.HasSuffix(name, "_dest") {
		suffix = "_dest"
	}
	decimals, ok := decimalsOf(objects, suffix)
	if !ok {
		return "", false
	}
	return MajorUnits(minor, decimals)
}

// decimalsOf returns the number of decimals of an amount in objects[0]. suffix is empty or "_dest"; the names of the members
// that describe the amount's asset end with it.
func decimalsOf(objects []Object, suffix string) (decimals int, ok bool) {
	asset := money.Asset{Env: money.Prod} // if no object names an env, the env is prod, for example for products
	for i := range objects {              // an outer object may name the env, and an inner object the rest of the asset
		o := &objects[i]
		if env, isEnv := money.ParseEnv(o.text("env")); isEnv {
			asset.Env = env
			break
		}
	}
	for i := range objects {
		o := &objects[i]
		if scale, err := strconv.Atoi(o.text("scale" + suffix)); err == nil && scale >= 0 && scale <= money.MaxScale {
			return scale, true
		}
		for _, prefix := range [...]string{"", "asset.", "amount."} {
			currency := o.text(prefix + "currency" + suffix)
			if currency == "" {
				continue
			}
			asset.Currency, asset.Network = money.Currency(currency), money.Network(o.text(prefix+"network"+suffix))
			if env, isEnv := money.ParseEnv(o.text(prefix + "env")); isEnv {
				asset.Env = env
			}
			return asset.Scale()
		}
	}
	return 0, false
}

// text returns the value of a member that is a string or a number, as text. For any other value it returns an empty text.
func (o *Object) text(name string) string {
	value, _ := o.Value(name)
	switch value.Kind() {
	case '"':
		if unquoted, err := jsontext.AppendUnquote(nil, value); err == nil {
			return string(unquoted)
		}
	case '0':
		return value.String()
	}
	return ""
}

// MajorUnits converts a whole number of minor units to major units, with commas between thousands. If the text is not a whole
// number, it returns false.
func MajorUnits(minor string, decimals int) (string, bool) {
	digits := strings.TrimPrefix(minor, "-")
	if digits == "" || strings.Trim(digits, "0123456789") != "" {
		return "", false
	}
	sign := minor[:len(minor)-len(digits)]
	if len(digits) <= decimals {
		digits = strings.Repeat("0", decimals+1-len(digits)) + digits
	}
	integer, fraction := digits[:len(digits)-decimals], digits[len(digits)-decimals:]
	var b strings.Builder
	b.WriteString(sign)
	for i := range len(integer) {
		if i > 0 && (len(integer)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteByte(integer[i])
	}
	if fraction != "" {
		b.WriteString("." + fraction)
	}
	return b.String(), true
}
