package directory

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// Mask is shown instead of what must not be read in a terminal's parameters, or of a
// partner's secret. A change that sends it back keeps what is stored.
const Mask = "•••"

var quotedMask = json.RawMessage(`"` + Mask + `"`)

// The keys of merchant_params that sign notifications.
const (
	keySecret         = "secret"
	keySecretPrevious = "secret_previous"
)

// secretWords are what a key's name holds whose value is written and never read, at any
// depth and in any case. Which keys a provider of its own knows, nobody here does, so a
// name is enough.
var secretWords = [...]string{"secret", "token", "password", "key"}

// keyPublishable names a key that is made to be shown to payers' browsers.
const keyPublishable = "publishable_key"

// SecretParam tells whether the value of a key of a terminal's parameters is shown as
// Mask.
func SecretParam(key string) bool {
	if key == keyPublishable {
		return false
	}
	key = strings.ToLower(key)
	return slices.ContainsFunc(secretWords[:], func(word string) bool { return strings.Contains(key, word) })
}

// Masked is an object of a terminal's parameters with Mask in the place of each secret.
// Null and an empty text are no secrets.
func Masked(params []byte) []byte { return masked(params) }

func masked(value json.RawMessage) json.RawMessage {
	return rewrite(value, func(name string, _ int, value json.RawMessage) json.RawMessage {
		switch {
		case !SecretParam(name):
			return masked(value)
		case string(value) == "null", string(value) == `""`:
			return value
		}
		return quotedMask
	})
}

// unmasked is the object that was sent, with what is stored in the place of each mask
// that stands for a secret. Where nothing is stored the mask stays, and is refused.
func unmasked(sent, stored json.RawMessage) json.RawMessage {
	var kept struct {
		members  map[string]json.RawMessage
		elements []json.RawMessage
	}
	if json.Unmarshal(stored, &kept.members) != nil && json.Unmarshal(stored, &kept.elements) != nil {
		return sent
	}
	return rewrite(sent, func(name string, i int, value json.RawMessage) json.RawMessage {
		old := kept.members[name]
		if name == "" && i < len(kept.elements) {
			old = kept.elements[i]
		}
		switch {
		case old == nil:
			return value
		case SecretParam(name) && isMask(value):
			return old
		}
		return unmasked(value, old)
	})
}

func isMask(value json.RawMessage) bool {
	var text string
	return json.Unmarshal(value, &text) == nil && text == Mask
}

// checkMasks refuses an object of parameters in which a mask stands for a secret that
// is not stored, but for the keys at the top that are checked by themselves.
func checkMasks(op, at string, value json.RawMessage, checked ...string) (wrong error) {
	rewrite(value, func(name string, i int, value json.RawMessage) json.RawMessage {
		field := at + "." + name
		if name == "" {
			field = at + "." + strconv.Itoa(i)
		}
		if SecretParam(name) && !slices.Contains(checked, name) {
			wrong = Join(wrong, check(!isMask(value), op, field, "%s", unknownSecret))
		}
		wrong = Join(wrong, checkMasks(op, field, value))
		return value
	})
	return wrong
}

// unknownSecret is said of a mask in whose place nothing is stored.
const unknownSecret = "is not known here: send the secret itself"

// rewrite is an object or a list with other values, in the order and by the names that
// it has: with is called for each, with the name, which of a list's elements is empty,
// and its place. What is neither is left as it is, and so is one whose values all stay.
func rewrite(text json.RawMessage, with func(name string, i int, value json.RawMessage) json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(text))
	opening, err := d.Token()
	if err != nil || opening != json.Delim('{') && opening != json.Delim('[') {
		return text
	}
	named := opening == json.Delim('{')
	out, changed := []byte{text[bytes.IndexAny(text, "{[")]}, false
	for i := 0; d.More(); i++ {
		var name string
		if i > 0 {
			out = append(out, ',')
		}
		if named {
			key, err := d.Token()
			if err != nil {
				return text
			}
			name, _ = key.(string)
			quoted, _ := json.Marshal(name) // a text has a form
			out = append(append(out, quoted...), ':')
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return text
		}
		put := with(name, i, value)
		changed = changed || !bytes.Equal(put, value)
		out = append(out, put...)
	}
	if !changed {
		return text
	}
	if named {
		return append(out, '}')
	}
	return append(out, ']')
}

// checkUnmasked refuses the mask as a secret: everybody knows it.
func checkUnmasked(op, field, secret string) error {
	return check(secret != Mask, op, field, "%s", unknownSecret)
}

// checkEmptied refuses an address or a secret that is asked for and empty: whoever
// sends that may have meant another one, and would be told nothing, or nothing signed.
func (t *Terminal) checkEmptied(op string) error {
	asked := readParams(op, merchantParams, t.MerchantParams)
	emptied := func(key string) bool { return string(asked.raw(key)) == `""` }
	return Join(
		check(!emptied(keyNotifyURL), op, asked.field(keyNotifyURL), "%s", EmptyNotifyURL),
		check(!emptied(keySecret), op, asked.field(keySecret), "%s", EmptySecret),
		check(!emptied(keySecretPrevious), op, asked.field(keySecretPrevious), "%s", EmptySecret),
	)
}

// What is said of an address or a secret that is sent empty, by all who take one.
const (
	EmptyNotifyURL = "must be an http or https address, or null"
	EmptySecret    = "must not be empty; null takes it away"
)

// forgetMasks leaves out secrets in whose place a mask is stored, as they did not
// open: what everybody knows signs nothing.
func (n *Notification) forgetMasks() {
	for _, secret := range []*string{&n.Secret, &n.SecretPrevious} {
		if *secret == Mask {
			*secret = ""
		}
	}
}

// ShownSecret is Mask in the place of the partner's secret, empty where it has none.
func (p *Partner) ShownSecret() string {
	if p.Secret == "" {
		return ""
	}
	return Mask
}
