package directory

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"mizan/ledger/schema"
)

// Mask is the text that responses show in place of each secret of a terminal. If a request sends Mask back, the stored
// secret stays.
const Mask = schema.Mask

var quotedMask = json.RawMessage(`"` + Mask + `"`)

// Keys of merchant_params whose values are the secrets that sign notifications.
const (
	keySecret         = "secret"
	keySecretPrevious = "secret_previous"
)

// secretWords are words that mark a secret: a parameter whose name contains one of them, in upper or lower case, is secret.
// The same applies to the members of nested objects. Only the names decide, because the service does not know all
// parameters of all providers.
var secretWords = [...]string{"secret", "token", "password", "key"}

// keyPublishable is the name of a parameter that payers' browsers may see, although the name contains "key".
const keyPublishable = "publishable_key"

// IsSecretParam tells whether a terminal's parameter with this name is secret. Responses show Mask instead of a secret
// value.
func IsSecretParam(key string) bool {
	if key == keyPublishable {
		return false
	}
	key = strings.ToLower(key)
	return slices.ContainsFunc(secretWords[:], func(word string) bool { return strings.Contains(key, word) })
}

// Masked returns a JSON object of a terminal's parameters with each secret replaced by Mask. Null and an empty text are not
// replaced.
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

// restoreMasked returns the object of a request with each mask replaced by the stored secret. If no secret is stored, the
// mask stays in the object, and checkMasks refuses it later.
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

// checkMasks refuses an object of parameters in which a mask is left in place of a secret. It skips the top-level keys in
// checkedElsewhere.
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

// rewrite returns a JSON object or list in which replace has replaced the values. The order and the names stay the same.
// rewrite calls replace with each value, its name (empty in a list) and its index, and replace returns the new value. If
// the text is neither an object nor a list, or if no value changes, rewrite returns the text unchanged.
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
			quoted, _ := json.Marshal(name) // encoding a string never fails
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

// checkUnmasked refuses a secret that equals Mask, because Mask is public.
func checkUnmasked(op, field, secret string) error {
	return check(secret != Mask, op, field, "%s", schema.UnknownSecret)
}

// refuseEmptyMembers refuses an empty notification address or signing secret in a request. An empty text is probably a
// mistake, and would cause missing or unsigned notifications.
func (t *Terminal) refuseEmptyMembers(op string) error {
	params, _ := parseMembers(t.MerchantParams)
	refuseEmpty := func(key, message string) error {
		return check(string(params[key]) != `""`, op, merchantParams+"."+key, "%s", message)
	}
	return Join(refuseEmpty(keyNotifyURL, EmptyNotifyURL), refuseEmpty(keySecret, EmptySecret), refuseEmpty(keySecretPrevious, EmptySecret))
}

// The error messages for an empty notification address and an empty signing secret.
const (
	EmptyNotifyURL = "must be an http or https address, or null"
	EmptySecret    = "must not be empty; null takes it away"
)
