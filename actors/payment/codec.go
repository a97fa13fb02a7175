package payment

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/internal/assert"
	"mizan/internal/packed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// recordVersion begins a transaction's payload; the msgpack map follows. A
// reader ignores keys that it does not know.
const recordVersion = 1

// Keys of the map. They are stored: none ever changes its meaning.
const (
	keyID = iota
	keyPartner
	keyType
	keyTxID
	keyAmount
	keyCurrency
	keyNetwork
	keyEnv
	keyDescription
	keyCustomer
	keyMeta
	keyLang
	keyReturnURL
	keyFailURL
	keyMethod
	keyBIN
	keyLast4
	keyPrint
	keyStatus
	keyError
	keyFee
	keyWithFee
	keyDest
	keyMerchant
	keyMerchantNegative
	keyTerminal
	keyRoute
	keyShown
	keyRRN
	keyUnheard
	keyInquiries
	keyReturnID
	keyReversalOf
)

type encoder struct {
	buf bytes.Buffer
	enc *msgpack.Encoder
	n   int
	raw [40]byte // ids and amounts on their way: a local would escape
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.enc = msgpack.NewEncoder(&e.buf)
	e.enc.UseCompactInts(true)
	return e
}}

// Encode is a transaction's payload. Empty fields are left out.
func Encode(r *payment.Record) []byte {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.buf.Reset()
	e.n = 0
	// The number of pairs is only known at the end: a map16 head has room for it.
	e.buf.Write([]byte{recordVersion, 0xde, 0, 0})
	e.identity(r)
	e.state(r)
	out := bytes.Clone(e.buf.Bytes())
	out[2], out[3] = byte(e.n>>8), byte(e.n)
	return out
}

func (e *encoder) identity(r *payment.Record) {
	e.id(keyID, r.ID)
	e.int(keyPartner, r.Partner)
	e.int(keyType, int64(r.Type))
	e.text(keyTxID, r.TxID)
	e.amount(keyAmount, r.Amount)
	e.text(keyCurrency, string(r.Asset.Currency))
	e.text(keyNetwork, string(r.Asset.Network))
	e.int(keyEnv, int64(r.Asset.Env))
	if r.Described {
		e.key(keyDescription)
		assert.NoError(e.enc.EncodeString(r.Description))
	}
	e.bytes(keyCustomer, r.Customer)
	e.bytes(keyMeta, r.MerchantMeta)
	e.text(keyLang, r.Lang)
	e.text(keyReturnURL, r.ReturnURL)
	e.text(keyFailURL, r.FailURL)
	e.text(keyMethod, r.Method)
	e.text(keyBIN, r.CardBIN)
	e.text(keyLast4, r.CardLast4)
	e.text(keyPrint, r.CardPrint)
}

func (e *encoder) state(r *payment.Record) {
	e.text(keyStatus, string(r.Status))
	e.text(keyError, r.Error)
	e.amount(keyFee, r.Fee)
	e.amount(keyWithFee, r.WithFee)
	e.amount(keyDest, r.Dest)
	e.amount(keyMerchant, r.Merchant.Abs)
	if r.Merchant.Negative {
		e.int(keyMerchantNegative, 1)
	}
	e.id(keyTerminal, r.Terminal)
	e.text(keyRoute, r.Route)
	e.text(keyShown, r.ShownText)
	e.text(keyRRN, r.RRN)
	e.int(keyUnheard, int64(r.Unheard))
	e.int(keyInquiries, int64(r.Inquiries))
	e.id(keyReturnID, r.ReturnID)
	e.id(keyReversalOf, r.ReversalOf)
}

func (e *encoder) key(k int) {
	e.n++
	assert.NoError(e.enc.EncodeInt(int64(k)))
}

func (e *encoder) int(k int, v int64) {
	if v != 0 {
		e.key(k)
		assert.NoError(e.enc.EncodeInt(v))
	}
}

func (e *encoder) text(k int, v string) {
	if v != "" {
		e.key(k)
		assert.NoError(e.enc.EncodeString(v))
	}
}

func (e *encoder) bytes(k int, v []byte) {
	if v != nil {
		e.key(k)
		assert.NoError(e.enc.EncodeBytes(v))
	}
}

func (e *encoder) id(k int, v ledger.ID) {
	if v != (ledger.ID{}) {
		e.key(k)
		assert.NoError(e.enc.EncodeBytes(append(e.raw[:0], v[:]...)))
	}
}

func (e *encoder) amount(k int, v money.Amount) {
	if !v.IsZero() {
		e.key(k)
		assert.NoError(e.enc.EncodeBytes(v.AppendBinary(e.raw[:0])))
	}
}

// Decode reads a transaction's payload.
func Decode(payload []byte) (*payment.Record, error) {
	if len(payload) == 0 || payload[0] != recordVersion || !packed.WellFormed(payload[1:]) {
		return nil, fmt.Errorf("transaction: unknown form")
	}
	dec := msgpack.GetDecoder()
	defer msgpack.PutDecoder(dec)
	dec.Reset(bytes.NewReader(payload[1:]))
	n, err := dec.DecodeMapLen()
	if err != nil {
		return nil, fmt.Errorf("transaction: %w", err)
	}
	r := new(payment.Record)
	for range n {
		key, err := dec.DecodeInt()
		if err == nil {
			err = decodeField(dec, key, r)
		}
		if err != nil {
			return nil, fmt.Errorf("transaction: key %d: %w", key, err)
		}
	}
	return r, nil
}

func decodeField(dec *msgpack.Decoder, key int, r *payment.Record) error {
	if to := textField(key, r); to != nil {
		var err error
		*to, err = dec.DecodeString()
		r.Described = r.Described || key == keyDescription
		return err
	}
	if to := amountField(key, r); to != nil {
		b, err := dec.DecodeBytes()
		if err != nil {
			return err
		}
		*to, b, err = money.ReadAmount(b)
		if err == nil && len(b) != 0 {
			err = money.ErrEncoding
		}
		return err
	}
	if to := idField(key, r); to != nil {
		b, err := dec.DecodeBytes()
		if err == nil && copy(to[:], b) != len(to) {
			err = fmt.Errorf("an id of %d bytes", len(b))
		}
		return err
	}
	return decodeRest(dec, key, r)
}

func decodeRest(dec *msgpack.Decoder, key int, r *payment.Record) (err error) {
	switch key {
	case keyCustomer:
		r.Customer, err = dec.DecodeBytes()
		return err
	case keyMeta:
		r.MerchantMeta, err = dec.DecodeBytes()
		return err
	case keyCurrency, keyNetwork, keyStatus:
		s, err := dec.DecodeString()
		switch key {
		case keyCurrency:
			r.Asset.Currency = money.Currency(s)
		case keyNetwork:
			r.Asset.Network = money.Network(s)
		default:
			r.Status = payment.Status(s)
		}
		return err
	case keyPartner, keyType, keyEnv, keyMerchantNegative, keyUnheard, keyInquiries:
		v, err := dec.DecodeInt64()
		setNumber(key, r, v)
		return err
	}
	return dec.Skip()
}

func setNumber(key int, r *payment.Record, v int64) {
	switch key {
	case keyPartner:
		r.Partner = v
	case keyType:
		r.Type = payment.Type(v)
	case keyEnv:
		r.Asset.Env = money.Env(v)
	case keyMerchantNegative:
		r.Merchant.Negative = v != 0
	case keyUnheard:
		r.Unheard = uint8(v)
	case keyInquiries:
		r.Inquiries = uint8(v)
	}
}

func textField(key int, r *payment.Record) *string {
	switch key {
	case keyTxID:
		return &r.TxID
	case keyDescription:
		return &r.Description
	case keyLang:
		return &r.Lang
	case keyReturnURL:
		return &r.ReturnURL
	case keyFailURL:
		return &r.FailURL
	case keyMethod:
		return &r.Method
	case keyBIN:
		return &r.CardBIN
	case keyLast4:
		return &r.CardLast4
	case keyPrint:
		return &r.CardPrint
	case keyError:
		return &r.Error
	case keyRoute:
		return &r.Route
	case keyShown:
		return &r.ShownText
	case keyRRN:
		return &r.RRN
	}
	return nil
}

func amountField(key int, r *payment.Record) *money.Amount {
	switch key {
	case keyAmount:
		return &r.Amount
	case keyFee:
		return &r.Fee
	case keyWithFee:
		return &r.WithFee
	case keyDest:
		return &r.Dest
	case keyMerchant:
		return &r.Merchant.Abs
	}
	return nil
}

func idField(key int, r *payment.Record) *ledger.ID {
	switch key {
	case keyID:
		return &r.ID
	case keyTerminal:
		return &r.Terminal
	case keyReturnID:
		return &r.ReturnID
	case keyReversalOf:
		return &r.ReversalOf
	}
	return nil
}
