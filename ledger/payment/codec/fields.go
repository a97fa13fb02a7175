package codec

import (
	"net/netip"
	"time"

	"mizan/internal/assert"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

type record = payment.Record

// field is a stored field of a transaction.
type field struct {
	key  int                   // index in the array fields, and the key in the stored map
	code func(*coder, *record) // an encoder writes key and value, unless the value is empty; a decoder reads the value
}

// fields are the stored fields of a transaction. A key never changes its meaning: new fields are added at the end.
var fields = [...]field{
	value(0, (*coder).id, func(r *record) *ledger.ID { return &r.ID }),
	value(1, number, func(r *record) *int64 { return &r.Partner }),
	value(2, number, func(r *record) *payment.Type { return &r.Type }),
	value(3, text, func(r *record) *string { return &r.TxID }),
	value(4, (*coder).amount, func(r *record) *money.Amount { return &r.Amount }),
	value(5, text, func(r *record) *money.Currency { return &r.Asset.Currency }),
	value(6, text, func(r *record) *money.Network { return &r.Asset.Network }),
	value(7, number, func(r *record) *money.Env { return &r.Asset.Env }),
	description(8),
	slice(9, (*coder).bytes, func(r *record) *[]byte { return &r.Customer }),
	slice(10, (*coder).bytes, func(r *record) *[]byte { return &r.MerchantMeta }),
	value(11, text, func(r *record) *string { return &r.Lang }),
	value(12, text, func(r *record) *string { return &r.ReturnURL }),
	value(13, text, func(r *record) *string { return &r.FailURL }),
	value(14, text, func(r *record) *string { return &r.Method }),
	value(15, text, func(r *record) *string { return &r.CardBIN }),
	value(16, text, func(r *record) *string { return &r.CardLast4 }),
	value(17, text, func(r *record) *string { return &r.CardFingerprint }),
	value(18, (*coder).address, func(r *record) *netip.Addr { return &r.PayerIP }),
	value(19, number, func(r *record) *ledger.Micros { return &r.AttemptedAt }),
	pointer(20, (*coder).renewal, func(r *record) **payment.Renewal { return &r.Renewal }),
	value(21, text, func(r *record) *payment.Status { return &r.Status }),
	value(22, text, func(r *record) *payment.Code { return &r.Failure.Code }),
	value(23, text, func(r *record) *string { return &r.Failure.Detail }),
	value(24, (*coder).amount, func(r *record) *money.Amount { return &r.Fee }),
	value(25, (*coder).amount, func(r *record) *money.Amount { return &r.AmountWithFee }),
	value(26, (*coder).amount, func(r *record) *money.Amount { return &r.DestAmount }),
	value(27, (*coder).amount, func(r *record) *money.Amount { return &r.MerchantAmount.Abs }),
	value(28, (*coder).flag, func(r *record) *bool { return &r.MerchantAmount.Negative }),
	value(29, (*coder).id, func(r *record) *ledger.ID { return &r.Terminal }),
	value(30, number, func(r *record) *int { return &r.Priority }),
	value(31, text, func(r *record) *string { return &r.Route }),
	value(32, text, func(r *record) *string { return &r.TerminalText }),
	slice(33, (*coder).bytes, func(r *record) *[]byte { return &r.Token }),
	value(34, text, func(r *record) *string { return &r.RRN }),
	value(35, number, func(r *record) *uint8 { return &r.NotFoundAnswers }),
	value(36, number, func(r *record) *uint8 { return &r.Inquiries }),
	value(37, (*coder).id, func(r *record) *ledger.ID { return &r.ReturnID }),
	value(38, (*coder).id, func(r *record) *ledger.ID { return &r.ReversalOf }),
	value(39, number, func(r *record) *uint32 { return &r.NotifiedChanges }),
	value(40, number, func(r *record) *uint32 { return &r.UnnotifiedChanges }),
	value(41, number, func(r *record) *uint32 { return &r.UnselectedChanges }),
	value(42, (*coder).rate, func(r *record) *money.Rate { return &r.Rate }),
	value(43, text, func(r *record) *money.Currency { return &r.SettlementAsset.Currency }),
	value(44, text, func(r *record) *money.Network { return &r.SettlementAsset.Network }),
	value(45, number, func(r *record) *money.BasisPoints { return &r.Fees.Bps }),
	value(46, (*coder).amount, func(r *record) *money.Amount { return &r.Fees.Fixed }),
	flags(47),
	value(48, number, func(r *record) *time.Duration { return &r.HoldTTL }),
	slice(49, (*coder).volumes, func(r *record) *[]payment.Volume { return &r.Volumes }),
	slice(50, list((*coder).attempt), func(r *record) *[]payment.Attempt { return &r.Attempts }),
	value(51, number, func(r *record) *ledger.Micros { return &r.HoldUntil }),
	value(52, (*coder).amount, func(r *record) *money.Amount { return &r.CapturedAmount }),
	value(53, (*coder).amount, func(r *record) *money.Amount { return &r.LastCommit }),
	value(54, (*coder).amount, func(r *record) *money.Amount { return &r.RefundedAmount }),
	value(55, (*coder).amount, func(r *record) *money.Amount { return &r.RefundedFee }),
	slice(56, list((*coder).refund), func(r *record) *[]payment.RefundRecord { return &r.Refunds }),
	value(57, (*coder).id, func(r *record) *ledger.ID { return &r.LinkID }),
	slice(58, (*coder).bytes, func(r *record) *[]byte { return &r.RailMeta }),
	pointer(59, (*coder).action, func(r *record) **payment.Action { return &r.Action }),
	pointer(60, (*coder).operation, func(r *record) **payment.Op { return &r.Op }),
	value(61, (*coder).amount, func(r *record) *money.Amount { return &r.AgreedTotal }),
	slice(62, list(text[string]), func(r *record) *[]string { return &r.Methods }),
	value(63, number, func(r *record) *ledger.Micros { return &r.HostedUntil }),
	value(64, number, func(r *record) *uint8 { return &r.HostedAttempts }),
	slice(65, list((*coder).endedAttempt), func(r *record) *[]payment.EndedAttempt { return &r.EndedAttempts }),
	value(66, (*coder).id, func(r *record) *ledger.ID { return &r.Reference }),
	value(67, (*coder).id, func(r *record) *ledger.ID { return &r.AttemptOf }),
	value(68, text, func(r *record) *payment.Code { return &r.OriginalRejection }),
}

func init() {
	for i := range fields {
		assert.That(fields[i].key == i, "payment: the key of field %d is %d", i, fields[i].key)
	}
}

// value returns a field that is not stored if it is zero.
func value[T comparable](key int, code func(*coder, *T), locate func(*record) *T) field {
	return field{key, func(c *coder, r *record) {
		v := locate(r)
		if c.encodes() {
			var zero T
			if *v == zero {
				return
			}
			c.key(key)
		}
		code(c, v)
	}}
}

// slice returns a field that is not stored if it is nil.
func slice[T any](key int, code func(*coder, *[]T), locate func(*record) *[]T) field {
	return field{key, func(c *coder, r *record) {
		v := locate(r)
		if c.encodes() {
			if *v == nil {
				return
			}
			c.key(key)
		}
		code(c, v)
	}}
}

// pointer returns a field that is not stored if it is nil.
func pointer[T any](key int, code func(*coder, *T), locate func(*record) **T) field {
	return field{key, func(c *coder, r *record) {
		v := locate(r)
		switch {
		case c.decodes():
			*v = new(T)
		case *v == nil:
			return
		default:
			c.key(key)
		}
		code(c, *v)
	}}
}

// description returns the field for a transaction's description. An empty description is stored too, unless the request
// had none at all.
func description(key int) field {
	return field{key, func(c *coder, r *record) {
		switch {
		case c.decodes():
			r.HasDescription = true
		case !r.HasDescription:
			return
		default:
			c.key(key)
		}
		text(c, &r.Description)
	}}
}

// flags returns the field that holds several of a record's booleans as bits (flagBits).
func flags(key int) field {
	return field{key, func(c *coder, r *record) {
		bits := flagsOf(r)
		if c.encodes() {
			if bits == 0 {
				return
			}
			c.key(key)
		}
		number(c, &bits)
		if c.decodes() {
			setFlags(r, bits)
		}
	}}
}

// The number of values in each of the arrays below. A new value must be added at the end of its array.
const (
	attemptValues     = 7
	endedValues       = 11
	refundValues      = 8
	actionValues      = 13
	destinationValues = 2
	opValues          = 11
)

func (c *coder) attempt(v *payment.Attempt) {
	c.array(attemptValues, func() {
		c.id(&v.Terminal)
		c.failure(&v.Failure)
		number(c, &v.At)
		text(c, &v.Outcome)
		number(c, &v.Priority)
		c.amount(&v.Total)
	})
}

func (c *coder) endedAttempt(v *payment.EndedAttempt) {
	c.array(endedValues, func() {
		c.id(&v.Reference)
		text(c, &v.Credentials.Method)
		text(c, &v.Credentials.CardBIN)
		text(c, &v.Credentials.CardLast4)
		text(c, &v.Credentials.CardFingerprint)
		text(c, &v.Credentials.Network)
		c.amount(&v.Credentials.AgreedTotal)
		c.address(&v.Credentials.PayerIP)
		number(c, &v.Credentials.AttemptedAt)
		terminals(c, &v.Terminals)
		c.bytes(&v.RailMeta)
	})
}

var terminals = list((*coder).attempt)

func (c *coder) refund(v *payment.RefundRecord) {
	c.array(refundValues, func() {
		c.id(&v.ID)
		c.amount(&v.Amount)
		c.amount(&v.RefundedFee)
		number(c, &v.Status)
		c.failure(&v.Failure)
		number(c, &v.CreatedAt)
		number(c, &v.FinishedAt)
	})
}

func (c *coder) action(v *payment.Action) {
	c.array(actionValues, func() {
		text(c, &v.Type)
		text(c, &v.Method)
		text(c, &v.URL)
		c.bytes(&v.Params)
		text(c, &v.Page)
		number(c, &v.PageUntil)
		text(c, &v.Code)
		text(c, &v.Deposit)
		c.bytes(&v.Material)
		number(c, &v.ExpiresAt)
		number(c, &v.Until)
		requirements(c, &v.Requires)
		destinations(c, &v.Destinations)
	})
}

var (
	requirements = list(text[string])
	destinations = list((*coder).destination)
)

func (c *coder) destination(v *payment.Destination) {
	c.array(destinationValues, func() {
		text(c, &v.ID)
		text(c, &v.Name)
	})
}

func (c *coder) operation(v *payment.Op) {
	c.array(opValues, func() {
		number(c, &v.Kind)
		c.id(&v.ID)
		c.amount(&v.Amount)
		c.amount(&v.RefundedFee)
		c.flag(&v.Answered)
		number(c, &v.NotFoundAnswers)
		number(c, &v.Inquiries)
		text(c, &v.Why)
		c.flag(&v.FromSuspense)
		text(c, &v.From)
		text(c, &v.Choice)
	})
}
