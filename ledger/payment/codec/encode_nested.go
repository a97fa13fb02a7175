package codec

import (
	"encoding/binary"
	"math"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// terms encodes the terminal's terms, except those of a plain charge.
func (e *encoder) terms(r *payment.Record) {
	if !r.Rate.IsZero() {
		rate, err := r.Rate.MarshalBinary()
		assert.NoError(err)
		e.bytes(keyRate, rate)
		e.text(keySettlesCurrency, string(r.SettlementAsset.Currency))
		e.text(keySettlesNetwork, string(r.SettlementAsset.Network))
	}
	e.int(keyFeeBps, int64(r.Fees.Bps))
	e.amount(keyFeeFixed, r.Fees.Fixed)
	e.int(keyFlags, flags(r))
	e.int(keyHoldTTL, int64(r.HoldTTL))
	e.volumes(r.Volumes)
	if len(r.Attempts) == 0 {
		return
	}
	e.array(keyAttempts, len(r.Attempts))
	for i := range r.Attempts {
		a := &r.Attempts[i]
		assert.NoError(e.enc.EncodeArrayLen(attemptFields))
		e.idValue(a.Terminal)
		e.failureValue(a.Failure)
		e.intValue(int64(a.At))
		e.textValue(a.Outcome)
		e.intValue(int64(a.Priority))
	}
}

// volumes encodes the volumes. Nearly every transaction under a limit stores them, in two
// versions, so the form is small. A volume is its limit's id and a head. The head's lowest bit
// tells whether a subject follows, the next one whether the window follows as a text, and the
// higher bits are the window's number. Texts follow in the order window, subject.
func (e *encoder) volumes(volumes []payment.Volume) {
	if len(volumes) == 0 {
		return
	}
	e.volume = e.volume[:0]
	for i := range volumes {
		v := &volumes[i]
		n, numbered := ledger.WindowNumber(v.Window)
		head := n << volumeBits
		if v.Subject != "" {
			head |= volumeSubject
		}
		if !numbered {
			head |= volumeText
		}
		e.volume = append(e.volume, v.Limit[:]...)
		e.volume = binary.AppendUvarint(e.volume, head)
		if !numbered {
			e.volume = appendText(e.volume, v.Window)
		}
		if v.Subject != "" {
			e.volume = appendText(e.volume, v.Subject)
		}
	}
	e.bytes(keyVolumes, e.volume)
}

// Bits of a volume's head. They are stored.
const (
	volumeSubject = 1 << iota
	volumeText

	volumeBits = iota
)

// appendText appends a text of fewer than 256 bytes, preceded by its length.
func appendText(to []byte, text string) []byte {
	assert.That(len(text) <= math.MaxUint8, "payment: a volume's text of %d bytes", len(text))
	return append(append(to, byte(len(text))), text...)
}

func flags(r *payment.Record) (v int64) {
	for _, f := range [...]struct {
		set bool
		bit int64
	}{
		{r.Fees.OnTop, flagFeeOnTop}, {r.Fees.Refundable, flagFeeRefundable}, {r.Hosted, flagHosted},
		{r.TwoPhase, flagTwoPhase}, {r.SettledLate, flagSettledLate}, {r.KeepCard, flagKeepCard}, {r.Known, flagKnown},
		{r.EmptyTxID, flagEmptyTxID},
	} {
		if f.set {
			v |= f.bit
		}
	}
	return v
}

// following encodes the fields that are set after the charge was submitted.
func (e *encoder) following(r *payment.Record) {
	e.int(keyHoldUntil, int64(r.HoldUntil))
	e.amount(keyCaptured, r.Captured)
	e.amount(keyLastCommit, r.LastCommit)
	e.amount(keyRefunded, r.Refunded)
	e.amount(keyFeeBack, r.RefundedFee)
	e.refunds(r.Refunds)
	e.id(keyLinkID, r.LinkID)
	e.bytes(keyRailMeta, r.RailMeta)
	if r.Action != nil {
		e.action(r.Action)
	}
	if r.Op != nil {
		e.op(r.Op)
	}
}

// Lengths of arrays. A reader accepts a longer array and skips the fields that it does not know.
const (
	attemptFields     = 6
	refundFields      = 8
	actionFields      = 13
	destinationFields = 2
	opFields          = 11
)

func (e *encoder) action(a *payment.Action) {
	e.array(keyAction, actionFields)
	e.textValue(a.Type)
	e.textValue(a.Method)
	e.textValue(a.URL)
	assert.NoError(e.enc.EncodeBytes(a.Params))
	e.textValue(a.Page)
	e.intValue(int64(a.PageUntil))
	e.textValue(a.Code)
	e.textValue(a.Deposit)
	assert.NoError(e.enc.EncodeBytes(a.Material))
	e.intValue(int64(a.ExpiresAt))
	e.intValue(int64(a.Until))
	assert.NoError(e.enc.EncodeArrayLen(len(a.Requires)))
	for _, name := range a.Requires {
		e.textValue(name)
	}
	assert.NoError(e.enc.EncodeArrayLen(len(a.Destinations)))
	for i := range a.Destinations {
		assert.NoError(e.enc.EncodeArrayLen(destinationFields))
		e.textValue(a.Destinations[i].ID)
		e.textValue(a.Destinations[i].Name)
	}
}

func (e *encoder) op(o *payment.Op) {
	e.array(keyOp, opFields)
	e.intValue(int64(o.Kind))
	e.idValue(o.Request)
	e.amountValue(o.Amount)
	e.amountValue(o.RefundedFee)
	assert.NoError(e.enc.EncodeBool(o.Answered))
	e.intValue(int64(o.NotFoundAnswers))
	e.intValue(int64(o.Inquiries))
	e.textValue(string(o.Why))
	assert.NoError(e.enc.EncodeBool(o.Late))
	e.textValue(string(o.From))
	e.textValue(o.Choice)
}

// refunds encodes the requested refunds in their order.
func (e *encoder) refunds(refunds []payment.RefundRecord) {
	if len(refunds) == 0 {
		return
	}
	e.array(keyRefunds, len(refunds))
	for i := range refunds {
		f := &refunds[i]
		assert.NoError(e.enc.EncodeArrayLen(refundFields))
		e.idValue(f.ID)
		e.amountValue(f.Amount)
		e.amountValue(f.RefundedFee)
		e.intValue(int64(f.Status))
		e.failureValue(f.Failure)
		e.intValue(int64(f.Created))
		e.intValue(int64(f.Finished))
	}
}

// failureValue encodes two values: the code and the detail.
func (e *encoder) failureValue(f payment.Failure) {
	e.textValue(string(f.Code))
	e.textValue(f.Detail)
}

func (e *encoder) array(k, n int) {
	e.key(k)
	assert.NoError(e.enc.EncodeArrayLen(n))
}

func (e *encoder) textValue(v string) { assert.NoError(e.enc.EncodeString(v)) }

func (e *encoder) intValue(v int64) { assert.NoError(e.enc.EncodeInt(v)) }

func (e *encoder) idValue(v ledger.ID) { assert.NoError(e.enc.EncodeBytes(append(e.raw[:0], v[:]...))) }

func (e *encoder) amountValue(v money.Amount) {
	assert.NoError(e.enc.EncodeBytes(v.AppendBinary(e.raw[:0])))
}
