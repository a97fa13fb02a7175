package directory

import (
	"encoding/json"
	"slices"
)

// The keys of merchant_params that sign notifications.
const (
	keySecret         = "secret"
	keySecretPrevious = "secret_previous"
)

var secretNotifications = []string{keySecret, keySecretPrevious}

// signs tells whether a key of merchant_params is written and never read.
func signs(key string) bool { return slices.Contains(secretNotifications, key) }

// MaskedNotification is an object of merchant_params with Mask in the place of
// each secret that signs. An empty one signs nothing, and is shown.
func MaskedNotification(params []byte) []byte {
	return rewrite(params, func(name string, value json.RawMessage) json.RawMessage {
		var text string
		if signs(name) && json.Unmarshal(value, &text) == nil && text != "" {
			return quotedMask
		}
		return value
	})
}

// putBack is the object that was sent, with what is stored in the place of each
// mask that stands for a secret. Where nothing is stored the mask stays, and is
// refused as a value.
func putBack(sent, stored []byte, secret func(key string) bool) []byte {
	var kept map[string]json.RawMessage
	if json.Unmarshal(stored, &kept) != nil {
		return sent
	}
	return rewrite(sent, func(name string, value json.RawMessage) json.RawMessage {
		var text string
		if old := kept[name]; secret(name) && old != nil && json.Unmarshal(value, &text) == nil && text == Mask {
			return old
		}
		return value
	})
}

// checkUnmasked refuses the mask as a secret: everybody knows it.
func checkUnmasked(op, field, secret string) error {
	return check(secret != Mask, op, field, "is not known here: send the secret itself")
}

// checkSecrets does that for the secrets of a terminal's notifications. It is for
// parameters that are asked for (invariant 5).
func (t *Terminal) checkSecrets(op string) error {
	n := readParams(op, merchantParams, t.MerchantParams)
	return Join(
		checkUnmasked(op, n.field(keySecret), n.text(keySecret, MaxSecret)),
		checkUnmasked(op, n.field(keySecretPrevious), n.text(keySecretPrevious, MaxSecret)),
	)
}

// checkEmptied refuses an address or a secret that is asked for and empty: whoever
// sends that may have meant another one, and would be told nothing, or nothing signed.
// What is stored as empty may be sent back.
func (t *Terminal) checkEmptied(op string, stored []byte) error {
	asked, old := readParams(op, merchantParams, t.MerchantParams), readParams(op, merchantParams, stored)
	emptied := func(key string) bool { return string(asked.raw(key)) == `""` && string(old.raw(key)) != `""` }
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
