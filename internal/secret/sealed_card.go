package secret

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// sealedCardVersion begins the plaintext of a sealed card.
const sealedCardVersion = 1

// SealCard seals what a later step needs of the card, for its own row: number,
// holder and expiry. The CVV is never inside, because it must not reach a disk in
// any form. The card stays as it is. Context and errors are as Seal's.
func (k *Keyring) SealCard(card *Card, context []byte) ([]byte, error) {
	plaintext := encodeCard(card)
	defer clear(plaintext)
	return k.Seal(plaintext, context)
}

// OpenCard is the card that SealCard sealed with the same context, without a
// CVV. Errors are as Open's, and one that quotes nothing if the plaintext is not
// a card that this program knows. The card is the caller's to wipe.
func (k *Keyring) OpenCard(sealed, context []byte) (*Card, error) {
	plaintext, err := k.Open(sealed, context)
	if err != nil {
		return nil, err
	}
	defer clear(plaintext)
	return decodeCard(plaintext)
}

// storedParts are the parts of a card that are sealed, in their order.
func (c *Card) storedParts() []*[]byte {
	return []*[]byte{&c.Number, &c.Holder, &c.ExpMonth, &c.ExpYear}
}

// encodeCard writes the version and each part after its length. The buffer has
// room for all of it: one that grew would leave copies that nobody wipes.
func encodeCard(card *Card) []byte {
	size := 1
	for _, part := range card.storedParts() {
		size += binary.MaxVarintLen64 + len(*part)
	}
	out := append(make([]byte, 0, size), sealedCardVersion)
	for _, part := range card.storedParts() {
		out = binary.AppendUvarint(out, uint64(len(*part)))
		out = append(out, *part...)
	}
	return out
}

// decodeCard copies the parts, so that the plaintext can be wiped.
func decodeCard(plaintext []byte) (*Card, error) {
	if len(plaintext) == 0 || plaintext[0] != sealedCardVersion {
		return nil, fmt.Errorf("a sealed card is not of version %d, which this program reads", sealedCardVersion)
	}
	card, rest := new(Card), plaintext[1:]
	for _, part := range card.storedParts() {
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
