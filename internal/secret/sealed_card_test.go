package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
	"pgregory.net/rapid"
)

func cardOfJane() *Card {
	return &Card{Number: []byte(canary), Holder: []byte("JANE DOE"), ExpMonth: []byte("12"), ExpYear: []byte("2030"), CVV: []byte("987")}
}

// openWithTink returns an AEAD that opens the keyring's ciphertexts. It uses only the library tink and the content of the
// keyring file, not this package.
func openWithTink(t *testing.T, k *Keyring) tink.AEAD {
	t.Helper()
	var file struct {
		Keys json.RawMessage `json:"sealing_keys"`
	}
	if err := json.Unmarshal(k.encode(), &file); err != nil {
		t.Fatal(err)
	}
	handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(file.Keys)))
	if err != nil {
		t.Fatal(err)
	}
	opener, err := aead.New(handle)
	if err != nil {
		t.Fatal(err)
	}
	return opener
}

func TestSealedCardHasNumberHolderAndExpiryAndNoCVV(t *testing.T) {
	k, card := createKeyring(t), cardOfJane()
	sealed, err := k.SealCard(card, sealingContext)
	if err != nil {
		t.Fatal(err)
	}
	plaintext, err := openWithTink(t, k).Decrypt(sealed, sealingContext)
	if err != nil {
		t.Fatal(err)
	}
	if want := "\x01\x104000000000000002\x08JANE DOE\x0212\x042030"; string(plaintext) != want {
		t.Errorf("the card is sealed as %q, want %q", plaintext, want)
	}
	if strings.Contains(string(plaintext), "987") {
		t.Error("the CVV is inside")
	}
	if string(card.CVV) != "987" || string(card.Number) != canary {
		t.Error("sealing changed the card")
	}
	opened, err := k.OpenCard(sealed, sealingContext)
	if err != nil {
		t.Fatal(err)
	}
	if opened.CVV != nil || !sameCard(opened, card) {
		t.Error("the card came back as another one")
	}
	if _, err := k.OpenCard(sealed, []byte("another record")); !errors.Is(err, ErrCannotOpen) {
		t.Errorf("moved to another record: %v", err)
	}
}

// sameCard tells whether two cards are equal, except for their CVVs.
func sameCard(a, b *Card) bool {
	return bytes.Equal(a.Number, b.Number) && bytes.Equal(a.Holder, b.Holder) &&
		bytes.Equal(a.ExpMonth, b.ExpMonth) && bytes.Equal(a.ExpYear, b.ExpYear)
}

func TestEveryCardSurvivesSealing(t *testing.T) {
	k := createKeyring(t)
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SliceOfN(rapid.Byte(), 0, 1100) // a holder's name has up to 255 characters, of up to 4 bytes each
		card := &Card{Number: part.Draw(t, "number"), Holder: part.Draw(t, "holder"), ExpMonth: part.Draw(t, "month"), ExpYear: part.Draw(t, "year")}
		sealed, err := k.SealCard(card, sealingContext)
		if err != nil {
			t.Fatal(err)
		}
		if opened, err := k.OpenCard(sealed, sealingContext); err != nil || !sameCard(opened, card) {
			t.Fatalf("came back as another one, %v", err)
		}
	})
}

// recordingAEAD is an AEAD that records the plaintexts that it gets.
type recordingAEAD struct {
	tink.AEAD
	buffers  [][]byte // the plaintexts themselves, not copies
	contents []string // copies of the plaintexts
}

func (r *recordingAEAD) record(plaintext []byte) {
	r.buffers, r.contents = append(r.buffers, plaintext[:cap(plaintext)]), append(r.contents, string(plaintext))
}

func (r *recordingAEAD) Encrypt(plaintext, context []byte) ([]byte, error) {
	r.record(plaintext)
	return r.AEAD.Encrypt(plaintext, context)
}

func (r *recordingAEAD) Decrypt(sealed, context []byte) ([]byte, error) {
	plaintext, err := r.AEAD.Decrypt(sealed, context)
	r.record(plaintext)
	return plaintext, err
}

func TestPlaintextOfACardIsWiped(t *testing.T) {
	k := createKeyring(t)
	recorder := &recordingAEAD{AEAD: k.sealer}
	k.sealer = recorder
	sealed, err := k.SealCard(cardOfJane(), sealingContext)
	if err != nil {
		t.Fatal(err)
	}
	card, err := k.OpenCard(sealed, sealingContext)
	if err != nil || string(card.Number) != canary {
		t.Fatalf("the card did not come back, %v", err)
	}
	if len(recorder.buffers) != 2 || !strings.Contains(recorder.contents[0], canary) || recorder.contents[0] != recorder.contents[1] {
		t.Fatalf("the plaintext was seen %d times", len(recorder.buffers))
	}
	for _, buffer := range recorder.buffers {
		if !bytes.Equal(buffer, make([]byte, len(buffer))) {
			t.Error("the plaintext is still there")
		}
	}
}

func TestMalformedSealedCardIsRefusedAndNotQuoted(t *testing.T) {
	k := createKeyring(t)
	intact := encodeCard(cardOfJane())
	damaged := map[string][]byte{
		"empty": {}, "another version": append([]byte{2}, intact[1:]...), "more": append(slices.Clone(intact), 0),
		"endless length": append([]byte{1}, bytes.Repeat([]byte{0xff}, 11)...),
		"huge length":    append([]byte{1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, canary...),
	}
	for n := 1; n < len(intact); n++ {
		damaged["cut to "+string(intact[:n])] = intact[:n]
	}
	for name, plaintext := range damaged {
		card, err := k.OpenCard(sealText(t, k, string(plaintext)), sealingContext)
		if err == nil || card != nil {
			t.Errorf("%q was opened", name)
		} else if strings.Contains(err.Error(), canary[:4]) {
			t.Errorf("the error quotes the card: %v", err)
		}
	}
}
