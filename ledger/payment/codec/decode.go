package codec

import (
	"bytes"
	"fmt"
	"net/netip"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"mizan/internal/packed"
	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// Decode parses a transaction's payload.
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
	if !r.Rate.IsZero() {
		r.SettlementAsset.Env = r.Asset.Env // no conversion crosses environments
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
		return decodeAmount(dec, to)
	}
	if to := idField(key, r); to != nil {
		return decodeID(dec, to)
	}
	return decodeRest(dec, key, r)
}

func decodeAmount(dec *msgpack.Decoder, to *money.Amount) error {
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

func decodeID(dec *msgpack.Decoder, to *ledger.ID) error {
	b, err := dec.DecodeBytes()
	if err == nil && (len(b) != len(to) || copy(to[:], b) != len(to)) {
		err = fmt.Errorf("an id of %d bytes", len(b))
	}
	return err
}

func decodeRest(dec *msgpack.Decoder, key int, r *payment.Record) (err error) {
	switch key {
	case keyCustomer:
		r.Customer, err = dec.DecodeBytes()
		return err
	case keyMeta:
		r.MerchantMeta, err = dec.DecodeBytes()
		return err
	case keyRailMeta:
		r.RailMeta, err = dec.DecodeBytes()
		return err
	case keyCurrency, keyNetwork, keySettlesCurrency, keySettlesNetwork, keyStatus, keyFailureCode:
		s, err := dec.DecodeString()
		setName(key, r, s)
		return err
	case keyRate:
		b, err := dec.DecodeBytes()
		if err != nil {
			return err
		}
		return r.Rate.UnmarshalBinary(b)
	case keyPayerIP:
		b, err := dec.DecodeBytes()
		if address, ok := netip.AddrFromSlice(b); ok {
			r.PayerIP = address
		} else if err == nil {
			err = fmt.Errorf("an address of %d bytes", len(b))
		}
		return err
	case keyVolumes:
		return decodeVolumes(dec, r)
	case keyRefunds:
		return decodeRefunds(dec, r)
	case keyRenewal:
		return decodeRenewal(dec, r)
	case keyToken:
		r.Token, err = dec.DecodeBytes()
		return err
	case keyAttempts:
		return decodeAttempts(dec, r)
	case keyAction:
		return decodeAction(dec, r)
	case keyOp:
		return decodeOp(dec, r)
	case keyPartner, keyType, keyEnv, keyMerchantNegative, keyNotFoundAnswers, keyInquiries, keyFeeBps, keyFlags, keyHoldTTL, keyHoldUntil,
		keyAttempted, keyPriority, keyNotified, keyUnnotified, keyUnwanted:
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
	case keyNotFoundAnswers:
		r.NotFoundAnswers = uint8(v)
	case keyInquiries:
		r.Inquiries = uint8(v)
	case keyFeeBps:
		r.Fees.Bps = money.BasisPoints(v)
	case keyHoldTTL:
		r.HoldTTL = time.Duration(v)
	case keyHoldUntil:
		r.HoldUntil = ledger.Micros(v)
	case keyFlags:
		setFlags(r, v)
	case keyAttempted:
		r.Attempted = ledger.Micros(v)
	case keyPriority:
		r.Priority = int(v)
	case keyNotified:
		r.Notified = uint32(v)
	case keyUnnotified:
		r.Unnotified = uint32(v)
	case keyUnwanted:
		r.Unwanted = uint32(v)
	}
}

func setFlags(r *payment.Record, v int64) {
	r.Fees.OnTop = v&flagFeeOnTop != 0
	r.Fees.Refundable = v&flagFeeRefundable != 0
	r.Hosted = v&flagHosted != 0
	r.TwoPhase = v&flagTwoPhase != 0
	r.SettledLate = v&flagSettledLate != 0
	r.KeepCard = v&flagKeepCard != 0
	r.Known = v&flagKnown != 0
	r.EmptyTxID = v&flagEmptyTxID != 0
}

func setName(key int, r *payment.Record, s string) {
	switch key {
	case keyCurrency:
		r.Asset.Currency = money.Currency(s)
	case keyNetwork:
		r.Asset.Network = money.Network(s)
	case keySettlesCurrency:
		r.SettlementAsset.Currency = money.Currency(s)
	case keySettlesNetwork:
		r.SettlementAsset.Network = money.Network(s)
	case keyStatus:
		r.Status = payment.Status(s)
	case keyFailureCode:
		r.Failure.Code = payment.Code(s)
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
		return &r.CardFingerprint
	case keyFailureDetail:
		return &r.Failure.Detail
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
		return &r.AmountWithFee
	case keyDest:
		return &r.Dest
	case keyMerchant:
		return &r.Merchant.Abs
	case keyFeeFixed:
		return &r.Fees.Fixed
	case keyLastCommit:
		return &r.LastCommit
	case keyCaptured:
		return &r.Captured
	case keyRefunded:
		return &r.Refunded
	case keyFeeBack:
		return &r.RefundedFee
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
	case keyLinkID:
		return &r.LinkID
	}
	return nil
}
