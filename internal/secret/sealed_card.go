package secret

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// sealedCardVersion is the first byte of a sealed card's plaintext.
const sealedCardVersion = 1

// SealCard seals (encrypts) the parts of the card that a later step of the payment needs: number, holder and expiry. The
// result is stored in a row of its own. It never contains the CVV, which must not be written to a disk in any form. SealCard
// does not change the card. For the context and the errors see Seal.
func (k *Keyring) SealCard(card *Card, context []byte) ([]byte, error) {
	plaintext := encodeCard(card)
	defer clear(plaintext)
	return k.Seal(plaintext, context)
}

// OpenCard returns the card that SealCard has sealed with the same context. The card has no CVV, and the caller must wipe it.
// Errors are those of Open, and another one if the plaintext is not a card of a known version; no error quotes the plaintext.
func (k *Keyring) OpenCard(sealed, context []byte) (*Card, error) {
	plaintext, err := k.Open(sealed, context)
	if err != nil {
		return nil, err
	}
	defer clear(plaintext)
	return decodeCard(plaintext)
}

// sealedParts returns pointers to the parts of the card that are sealed, in the order in which they are stored.
func (c *Card) sealedParts() []*[]byte {
	return []*[]byte{&c.Number, &c.Holder, &c.ExpMonth, &c.ExpYear}
}

// encodeCard returns the plaintext of a sealed card: the version, and then each part preceded by its length. The buffer has
// its full size from the beginning, because a growing buffer would leave copies that are not wiped.
func encodeCard(card *Card) []byte {
	size := 1
	for _, part := range card.sealedParts() {
		size += binary.MaxVarintLen64 + len(*part)
	}
	out := append(make([]byte, 0, size), sealedCardVersion)
	for _, part := range card.sealedParts() {
		out = binary.AppendUvarint(out, uint64(len(*part)))
		out = append(out, *part...)
	}
	return out
}

// decodeCard returns the card in the plaintext. The card has copies of the parts, so that the caller can wipe the plaintext.
func decodeCard(plaintext []byte) (*Card, error) {
	if len(plaintext) == 0 || plaintext[0] != sealedCardVersion {
		return nil, fmt.Errorf("a sealed card is not of version %d, which this program reads", sealedCardVersion)
	}
	card, rest := new(Card), plaintext[1:]
	for _, part := range card.sealedParts() {
		length, n := binary.Uvarint(rest)
		if n <= 0 || length > uint64(len(rest)-n) {
			card.Wipe()
			return nil, errors.New("a sealed card is cut off")
		}
		rest = rest[n:]
		*part, rest = bytes.Clone(rest[:length]), rest[length:]
	}
	if len(rest) > 0 {
		card.Wipe()
		return nil, errors.New("a sealed card is followed by more")
	}
	return card, nil
}
