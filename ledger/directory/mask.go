package directory

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mizan/ledger/schema"
)

// Mask replaces secrets when a terminal's parameters are shown. A request that sends Mask back keeps
// the stored secret.
const Mask = schema.Mask

var quotedMask = json.RawMessage(`"` + Mask + `"`)

// Keys of merchant_params whose values sign notifications.
const (
	keySecret         = "secret"
	keySecretPrevious = "secret_previous"
)

// secretWords mark a terminal's parameter as secret if its name contains one of them, at any depth and
// in upper or lower case. Parameters are recognised by their names, because this platform does not know
// all parameters of all providers.
var secretWords = [...]string{"secret", "token", "password", "key"}

// keyPublishable names a parameter that payers' browsers may see.
const keyPublishable = "publishable_key"

// IsSecretParam tells whether a terminal's parameter with that key is secret, so that Mask is shown instead.
func IsSecretParam(key string) bool {
	if key == keyPublishable {
		return false
	}
	key = strings.ToLower(key)
	return slices.ContainsFunc(secretWords[:], func(word string) bool { return strings.Contains(key, word) })
}

// Masked returns an object of a terminal's parameters with Mask in place of each secret. Null
// and an empty text are not secrets.
func Masked(params []byte) []byte { return maskSecrets(params) }

func maskSecrets(value json.RawMessage) json.RawMessage {
	return rewrite(value, func(name string, _ int, value json.RawMessage) json.RawMessage {
		switch {
		case !IsSecretParam(name):
			return maskSecrets(value)
		case string(value) == "null", string(value) == `""`:
			return value
		}
		return quotedMask
	})
}

// restoreMasked returns a request's object with stored secrets in place of their masks. The mask of a
// secret that is not stored stays, and checkMasks refuses it later.
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
		case IsSecretParam(name) && isMask(value):
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
// stored. It skips the top-level keys in checkedElsewhere.
func checkMasks(op, path string, value json.RawMessage, checkedElsewhere ...string) (refusal error) {
	rewrite(value, func(name string, i int, value json.RawMessage) json.RawMessage {
		field := path + "." + name
		if name == "" {
			field = path + "." + strconv.Itoa(i)
		}
		if IsSecretParam(name) && !slices.Contains(checkedElsewhere, name) {
			refusal = Join(refusal, check(!isMask(value), op, field, "%s", schema.UnknownSecret))
		}
		refusal = Join(refusal, checkMasks(op, field, value))
		return value
	})
	return refusal
}

// rewrite returns a JSON object or list with replaced values, in the same order and under the same names.
// replace gets a value with its name (empty in a list) and its index, and returns the new value. A text
// that is neither object nor list is returned unchanged, and so is one in which no value changes.
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

// refuseEmptyMembers refuses an empty notification address or signing secret in a request. The sender
// may have meant another value, and would get no notifications, or unsigned ones.
func (t *Terminal) refuseEmptyMembers(op string) error {
	params, _ := parseMembers(t.MerchantParams)
	refuseEmpty := func(key, message string) error {
		return check(string(params[key]) != `""`, op, merchantParams+"."+key, "%s", message)
	}
	return Join(refuseEmpty(keyNotifyURL, EmptyNotifyURL), refuseEmpty(keySecret, EmptySecret), refuseEmpty(keySecretPrevious, EmptySecret))
}

// The messages that refuse an empty notification address or signing secret.
const (
	EmptyNotifyURL = "must be an http or https address, or null"
	EmptySecret    = "must not be empty; null takes it away"
)
