package secret

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// sealedCardVersion is the first byte of a sealed card's plaintext.
const sealedCardVersion = 1

// SealCard seals (encrypts) the parts of the card that a later step of the payment needs: number, holder and expiry. The sealed
// card never contains the CVV, which must not be written to a disk in any form. Callers store the sealed card in a row of its
// own. SealCard does not change the card. See Seal for the context and the errors.
func (k *Keyring) SealCard(card *Card, context []byte) ([]byte, error) {
	plaintext := encodeCard(card)
	defer clear(plaintext)
	return k.Seal(plaintext, context)
}

// OpenCard decrypts a card that SealCard has sealed with the same context. The card has no CVV. The caller must wipe the card.
// OpenCard returns an error of Open, or an error if the plaintext is not a card of a known version. No error quotes the
// plaintext.
func (k *Keyring) OpenCard(sealed, context []byte) (*Card, error) {
	plaintext, err := k.Open(sealed, context)
	if err != nil {
		return nil, err
	}
	defer clear(plaintext)
	return decodeCard(plaintext)
}

// sealedParts returns pointers to the fields of the card that are sealed, in the order in which a sealed card has them.
func (c *Card) sealedParts() []*[]byte {
	return []*[]byte{&c.Number, &c.Holder, &c.ExpMonth, &c.ExpYear}
}

// encodeCard returns the plaintext of a sealed card: the version, and then the length and the bytes of each field. The buffer
// is allocated with its full size, because a buffer that grows would leave copies that are not wiped.
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

// decodeCard decodes the plaintext of a sealed card. The fields of the card are copies, so the caller can wipe the plaintext.
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
