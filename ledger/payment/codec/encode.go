package codec

import (
	"bytes"
	"net/netip"
	"sync"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// recordVersion is the first byte of a transaction's payload; the msgpack map follows. A reader
// ignores keys that it does not know.
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
	keyFailureCode
	keyFailureDetail
	keyFee
	keyWithFee
	keyDest
	keyMerchant
	keyMerchantNegative
	keyTerminal
	keyRoute
	keyShown
	keyRRN
	keyNotFoundAnswers
	keyInquiries
	keyReturnID
	keyReversalOf
	keyRate
	keySettlesCurrency
	keySettlesNetwork
	keyFeeBps
	keyFeeFixed
	keyFlags
	keyAttempts
	keyHoldTTL
	keyHoldUntil
	keyCaptured
	keyRefunded
	keyFeeBack
	keyRefunds
	keyLinkID
	keyAction
	keyOp
	keyRailMeta
	keyLastCommit
	keyPayerIP
	keyAttempted
	keyPriority
	keyVolumes
	keyRenewal
	keyToken
	keyNotified
	keyUnnotified
	keyUnwanted
)

// Bits of keyFlags. They are stored like the keys.
const (
	flagFeeOnTop = 1 << iota
	flagFeeRefundable
	flagHosted
	flagTwoPhase
	flagSettledLate
	flagKeepCard
	flagKnown
	flagEmptyTxID
)

type encoder struct {
	buf bytes.Buffer
	enc *msgpack.Encoder
	n   int
	raw [40]byte // scratch for ids and amounts: a local array would escape to the heap

	volume []byte // scratch too
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.enc = msgpack.NewEncoder(&e.buf)
	e.enc.UseCompactInts(true)
	return e
}}

// Encode returns a transaction's payload. It omits empty fields.
func Encode(r *payment.Record) []byte {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.buf.Reset()
	e.n = 0
	// The number of pairs is known only at the end, so Encode reserves room for a map16 head.
	e.buf.Write([]byte{recordVersion, 0xde, 0, 0})
	e.identity(r)
	e.state(r)
	e.terms(r)
	e.following(r)
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
	e.text(keyPrint, r.CardFingerprint)
	if r.PayerIP.IsValid() {
		e.key(keyPayerIP)
		assert.NoError(e.enc.EncodeBytes(e.address(r.PayerIP)))
	}
	e.int(keyAttempted, int64(r.Attempted))
	e.renewal(r.Renewal)
}

func (e *encoder) state(r *payment.Record) {
	e.text(keyStatus, string(r.Status))
	e.text(keyFailureCode, string(r.Failure.Code))
	e.text(keyFailureDetail, r.Failure.Detail)
	e.amount(keyFee, r.Fee)
	e.amount(keyWithFee, r.AmountWithFee)
	e.amount(keyDest, r.Dest)
	e.amount(keyMerchant, r.Merchant.Abs)
	if r.Merchant.Negative {
		e.int(keyMerchantNegative, 1)
	}
	e.id(keyTerminal, r.Terminal)
	e.int(keyPriority, int64(r.Priority))
	e.text(keyRoute, r.Route)
	e.text(keyShown, r.ShownText)
	e.bytes(keyToken, r.Token)
	e.text(keyRRN, r.RRN)
	e.int(keyNotFoundAnswers, int64(r.NotFoundAnswers))
	e.int(keyInquiries, int64(r.Inquiries))
	e.id(keyReturnID, r.ReturnID)
	e.id(keyReversalOf, r.ReversalOf)
	e.int(keyNotified, int64(r.Notified))
	e.int(keyUnnotified, int64(r.Unnotified))
	e.int(keyUnwanted, int64(r.Unwanted))
}

// address encodes an IP address in its binary form, without a zone.
func (e *encoder) address(a netip.Addr) []byte {
	if a.Is4() {
		four := a.As4()
		return append(e.raw[:0], four[:]...)
	}
	sixteen := a.As16()
	return append(e.raw[:0], sixteen[:]...)
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
