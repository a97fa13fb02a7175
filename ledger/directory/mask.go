package directory

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mizan/ledger/schema"
)

// Mask replaces secrets when a terminal's parameters are shown. A change that sends it back keeps
// the stored secret.
const Mask = schema.Mask

var quotedMask = json.RawMessage(`"` + Mask + `"`)

// Keys of merchant_params that sign notifications.
const (
	keySecret         = "secret"
	keySecretPrevious = "secret_previous"
)

// secretWords are parts of the names of keys whose values are secret, at any depth and in any
// case. This platform does not know all keys of all providers, so a key is recognised by its
// name.
var secretWords = [...]string{"secret", "token", "password", "key"}

// keyPublishable is a key that payers' browsers may see.
const keyPublishable = "publishable_key"

// SecretParam tells whether the value of a key of a terminal's parameters is shown as Mask.
func SecretParam(key string) bool {
	if key == keyPublishable {
		return false
	}
	key = strings.ToLower(key)
	return slices.ContainsFunc(secretWords[:], func(word string) bool { return strings.Contains(key, word) })
}

// Masked returns an object of a terminal's parameters with Mask in place of each secret. Null
// and an empty text are not secrets.
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

// restoreMasked returns the sent object with stored secrets in place of their masks. If no secret is
// stored the mask stays, and checkMasks refuses it.
func restoreMasked(request, stored json.RawMessage) json.RawMessage {
	var storedValues struct {
		members  map[string]json.RawMessage
		elements []json.RawMessage
	}
	if json.Unmarshal(stored, &storedValues.members) != nil && json.Unmarshal(stored, &storedValues.elements) != nil {
		return request
	}
	return rewrite(request, func(name string, i int, value json.RawMessage) json.RawMessage {
		old := storedValues.members[name]
		if name == "" && i < len(storedValues.elements) {
			old = storedValues.elements[i]
		}
		switch {
		case old == nil:
			return value
		case SecretParam(name) && isMask(value):
			return old
		}
		return restoreMasked(value, old)
	})
}

func isMask(value json.RawMessage) bool {
	var text string
	return json.Unmarshal(value, &text) == nil && text == Mask
}

// checkMasks refuses an object of parameters with a mask in place of a secret that is not
// stored. It skips the top-level keys in checked, which have their own check.
func checkMasks(op, path string, value json.RawMessage, checked ...string) (refusal error) {
	rewrite(value, func(name string, i int, value json.RawMessage) json.RawMessage {
		field := path + "." + name
		if name == "" {
			field = path + "." + strconv.Itoa(i)
		}
		if SecretParam(name) && !slices.Contains(checked, name) {
			refusal = Join(refusal, check(!isMask(value), op, field, "%s", schema.UnknownSecret))
		}
		refusal = Join(refusal, checkMasks(op, field, value))
		return value
	})
	return refusal
}

// rewrite returns an object or a list with its values replaced, and keeps names and order. Each value
// becomes what replace returns for its name (empty for an element of a list), its index and the
// value. It returns text unchanged if it is neither object nor list, or if no value changes.
func rewrite(text json.RawMessage, replace func(name string, i int, value json.RawMessage) json.RawMessage) json.RawMessage {
	decoder := json.NewDecoder(bytes.NewReader(text))
	opening, err := decoder.Token()
	if err != nil || opening != json.Delim('{') && opening != json.Delim('[') {
		return text
	}
	isObject := opening == json.Delim('{')
	out, changed := []byte{text[bytes.IndexAny(text, "{[")]}, false
	for i := 0; decoder.More(); i++ {
		var name string
		if i > 0 {
			out = append(out, ',')
		}
		if isObject {
			key, err := decoder.Token()
			if err != nil {
				return text
			}
			name, _ = key.(string)
			quoted, _ := json.Marshal(name) // a string always marshals
			out = append(append(out, quoted...), ':')
		}
		var value json.RawMessage
		if decoder.Decode(&value) != nil {
			return text
		}
		replacement := replace(name, i, value)
		changed = changed || !bytes.Equal(replacement, value)
		out = append(out, replacement...)
	}
	if !changed {
		return text
	}
	if isObject {
		return append(out, '}')
	}
	return append(out, ']')
}

// checkUnmasked refuses the mask as a secret, because the mask is public.
func checkUnmasked(op, field, secret string) error {
	return check(secret != Mask, op, field, "%s", schema.UnknownSecret)
}

// refuseEmptyMembers refuses an empty address or secret in a request. The sender may have meant
// another value, and would get no notifications, or unsigned ones.
func (t *Terminal) refuseEmptyMembers(op string) error {
	params, _ := members(t.MerchantParams)
	refuseEmpty := func(key, message string) error {
		return check(string(params[key]) != `""`, op, merchantParams+"."+key, "%s", message)
	}
	return Join(refuseEmpty(keyNotifyURL, EmptyNotifyURL), refuseEmpty(keySecret, EmptySecret), refuseEmpty(keySecretPrevious, EmptySecret))
}

// Messages for an empty address or secret, used wherever one is accepted.
const (
	EmptyNotifyURL = "must be an http or https address, or null"
	EmptySecret    = "must not be empty; null takes it away"
)
