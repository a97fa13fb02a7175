package payment

import (
	"encoding/binary"
	"errors"
	"fmt"

	"mizan/actors"
	"mizan/internal/tracing"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/jsonform"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/payment/admission"
	"mizan/ledger/schema"
	"mizan/posting"
)

// changeableFields are the fields of a notification that may later change in the transaction's record. So
// their values are stored in the notice (a posting.Notice: one notification that is to be sent).
type changeableFields struct {
	status        payment.Status
	failure       payment.Failure
	amountWithFee money.Amount
	destAmount    money.Amount // the amount in the destination's currency
	lang          string       // the partner's language
	railMeta      []byte       // JSON object with the rail's own keys; nil if none
}

// notification holds all data of a notification to the merchant. The first delivery attempt finds the
// notification in memory (Notice.Subject). The record can be shared because a *payment.Record is never
// modified: each change of the transaction makes a new one.
type notification struct {
	record *payment.Record
	fields changeableFields
}

// recipient is the merchant's destination for notifications, according to the current settings.
type recipient struct {
	destination ledger.ID // id of the terminal or partner to whose address webhooks are sent
	hasAddress  bool      // false if no address is set: then no webhook is sent
	terminal    *directory.Terminal
}

// recipient returns the merchant's destination for notifications about a transaction.
func (s *Service) recipient(org ledger.ID, r *payment.Record) (a recipient) {
	if s.addresses == nil {
		return a
	}
	if a.destination, a.hasAddress = s.addresses.Destination(org, r.Partner, r.Asset.Env, r.Terminal); a.destination != (ledger.ID{}) {
		a.terminal, _ = s.directory.Terminal(org, a.destination)
	}
	return a
}

// selects reports whether the merchant's settings select the event's status for notifications. If the transaction has
// no known terminal, the default for the status applies.
func (r *recipient) selects(e *ledger.Event) bool {
	byDefault := payment.NotifiedByDefault(payment.Status(e.To))
	if r.terminal == nil {
		return byDefault
	}
	return r.terminal.Notification.Notifies(e.To, byDefault)
}

// notices returns a decision's notices to the merchant, to the terminal's operators and to the payer. A notice to the
// merchant has the status after the notice's own event, but the other fields have their values after the decision's
// last event. A notice to the payer is empty: the receipt is written from the record when it is sent. If the merchant
// has no address and the organization has a listener, the notices to the merchant are transient: only the listener
// gets them.
func (s *Service) notices(org ledger.ID, d *payment.Decision, merchant *recipient, origin tracing.Origin) (notices, transient []posting.Notice) {
	hasListener := s.rt.Listeners.HasListener(org)
	for i := range d.Events {
		e := &d.Events[i]
		if !payment.Notifiable(e) {
			continue
		}
		if (merchant.hasAddress || hasListener) && merchant.selects(e) {
			content := s.newNotification(org, d.Record, e)
			notice := posting.Notice{
				Event: i, Channel: posting.Webhook, To: merchant.destination, Body: content.fields.appendTo(nil, d.Record), Subject: content, Origin: origin,
			}
			if merchant.hasAddress {
				notices = append(notices, notice)
			} else {
				transient = append(transient, notice)
			}
		}
		if body := s.newOperatorAlert(org, d.Record, e); body != nil {
			notices = append(notices, posting.Notice{Event: i, Channel: posting.OperatorAlert, To: d.Record.Terminal, Body: body, Origin: origin})
		}
		if s.sendsReceipts && payment.IsFirstCharge(e) && admission.ReceiptAddress(d.Record) != "" {
			notices = append(notices, posting.Notice{Event: i, Channel: posting.PayerReceipt, To: d.Record.Terminal, Origin: origin})
		}
	}
	return notices, transient
}

// newNotification returns the merchant's notification of an event.
func (s *Service) newNotification(org ledger.ID, r *payment.Record, e *ledger.Event) *notification {
	return &notification{record: r, fields: changeableFields{
		status: payment.Status(e.To), failure: r.Failure, amountWithFee: r.AmountWithFee, destAmount: r.DestAmount,
		lang: s.partnerLang(org, r.Partner), railMeta: r.RailMeta,
	}}
}

func (s *Service) partnerLang(org ledger.ID, partner int64) string {
	if p, ok := s.directory.Partner(org, partner); ok {
		return p.Lang
	}
	return ""
}

// A notice's body consists of a version, flags, a status, and the fields whose flags are set. Amounts that
// equal the record's amount are omitted, and so are empty fields. So nearly every notice ends after the
// status.
const (
	noticeVersion = 1

	hasAmountWithFee = 1 << 0
	hasDestAmount    = 1 << 1
	hasFailure       = 1 << 2
	hasLang          = 1 << 3
	hasRailMeta      = 1 << 4
)

// appendTo appends the body of a notice about the record.
func (f *changeableFields) appendTo(dst []byte, r *payment.Record) []byte {
	statusNumber, _ := payment.NotifiedNumber(f.status)
	var flags byte
	for _, field := range []struct {
		flag  byte
		isSet bool
	}{
		{hasAmountWithFee, f.amountWithFee != r.Amount}, {hasDestAmount, f.destAmount != r.Amount},
		{hasFailure, !f.failure.IsZero()}, {hasLang, f.lang != ""}, {hasRailMeta, len(f.railMeta) > 0},
	} {
		if field.isSet {
			flags |= field.flag
		}
	}
	dst = append(dst, noticeVersion, flags, statusNumber)
	if flags&hasAmountWithFee != 0 {
		dst = f.amountWithFee.AppendBinary(dst)
	}
	if flags&hasDestAmount != 0 {
		dst = f.destAmount.AppendBinary(dst)
	}
	if flags&hasFailure != 0 {
		dst = appendBytes(appendBytes(dst, string(f.failure.Code)), f.failure.Detail)
	}
	if flags&hasLang != 0 {
		dst = appendBytes(dst, f.lang)
	}
	if flags&hasRailMeta != 0 {
		dst = appendBytes(dst, f.railMeta)
	}
	return dst
}

func appendBytes[T string | []byte](dst []byte, text T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

var errMalformedNotice = errors.New("notice: unknown form")

// readChangeable parses a notice's body, which appendTo wrote.
func readChangeable(body []byte, r *payment.Record) (f changeableFields, err error) {
	if len(body) < 3 || body[0] != noticeVersion {
		return f, errMalformedNotice
	}
	flags, unread, ok := body[1], body[3:], false
	if f.status, ok = payment.NotifiedStatus(body[2]); !ok {
		return f, errMalformedNotice
	}
	f.amountWithFee, f.destAmount = r.Amount, r.Amount
	for _, amount := range []struct {
		flag   byte
		target *money.Amount
	}{{hasAmountWithFee, &f.amountWithFee}, {hasDestAmount, &f.destAmount}} {
		if flags&amount.flag != 0 {
			if *amount.target, unread, err = money.ReadAmount(unread); err != nil {
				return f, err
			}
		}
	}
	texts := [4][]byte{}
	for i, flag := range [4]byte{hasFailure, hasFailure, hasLang, hasRailMeta} {
		if flags&flag == 0 {
			continue
		}
		length, size := binary.Uvarint(unread)
		if size <= 0 || length > uint64(len(unread)-size) {
			return f, errMalformedNotice
		}
		texts[i], unread = unread[size:size+int(length)], unread[size+int(length):]
	}
	if len(unread) != 0 {
		return f, errMalformedNotice
	}
	f.failure = payment.Failure{Code: payment.Code(texts[0]), Detail: string(texts[1])}
	f.lang, f.railMeta = string(texts[2]), texts[3]
	return f, nil
}

// NoticeStatus returns the status in a stored notice.
func NoticeStatus(body []byte) (payment.Status, error) {
	if len(body) < 3 || body[0] != noticeVersion {
		return "", errMalformedNotice
	}
	status, ok := payment.NotifiedStatus(body[2])
	if !ok {
		return "", errMalformedNotice
	}
	return status, nil
}

var _ actors.NotificationWriter = (*Service)(nil)

// WriteNotification implements actors.NotificationWriter for transactions.
func (s *Service) WriteNotification(dst []byte, org ledger.ID, n *posting.Notice) (actors.NotificationBody, error) {
	content, ok := n.Subject.(*notification)
	if !ok {
		result, found, err := s.load(org, n.Source.ID)
		if err != nil {
			return actors.NotificationBody{}, err
		}
		if !found {
			return actors.NotificationBody{}, fmt.Errorf("transaction %v has a notice but no record", n.Source.ID)
		}
		f, err := readChangeable(n.Body, result.Record)
		if err != nil {
			return actors.NotificationBody{}, fmt.Errorf("transaction %v: %w", n.Source.ID, err)
		}
		content = &notification{record: result.Record, fields: f}
	}
	return actors.NotificationBody{Type: "transaction." + string(content.fields.status), Data: content.appendJSON(dst)}, nil
}

// appendJSON appends the notification's data: a JSON object with its members in the order that the API promises.
func (n *notification) appendJSON(dst []byte) []byte {
	r, f := n.record, &n.fields
	dst = append(append(dst, `{"type":"`...), r.Type.String()...)
	dst = append(dst, `","txid":`...)
	if r.TxID == "" && !r.EmptyTxID {
		dst = append(dst, "null"...)
	} else {
		dst = schema.AppendText(dst, r.TxID)
	}
	dst = append(append(dst, `,"id":"`...), r.ID.String()...)
	dst = r.Amount.AppendDecimal(append(dst, `","amount":"`...))
	dst = f.destAmount.AppendDecimal(append(dst, `","amount_dest":"`...))
	dst = f.amountWithFee.AppendDecimal(append(dst, `","amount_with_fee":"`...))
	dst = append(append(dst, `","status":"`...), f.status...)
	dst = schema.AppendText(append(dst, `","error_description":`...), f.failure.Describe(f.lang))
	dst = jsonform.AppendErrorCode(append(dst, `,"error_code":`...), f.failure)
	dst = jsonform.AppendMerchantMeta(append(dst, `,"merchant_meta":`...), r.MerchantMeta, f.railMeta, f.lang)
	return append(dst, '}')
}
