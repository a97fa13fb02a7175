package subscription

import (
	"fmt"
	"strconv"

	"mizan/actors"
	"mizan/ledger"
	"mizan/ledger/schema"
	"mizan/ledger/subscription"
	"mizan/posting"
)

var _ actors.NotificationWriter = (*Service)(nil)

// instantLayout is the layout of a time in ISO 8601 with an explicit offset.
const instantLayout = "2006-01-02T15:04:05.000000-07:00"

// WriteNotification implements actors.NotificationWriter for posting.Stream. It writes the complete body, which has
// no field event_id. The timestamp in the body is the time of the event, so that every attempt sends the same bytes.
func (s *Service) WriteNotification(dst []byte, org ledger.ID, n *posting.Notice) (actors.NotificationBody, error) {
	event, progress, err := DecodeNotice(n.Body)
	if err != nil {
		return actors.NotificationBody{}, err
	}
	r, isRecord := n.Subject.(*subscription.Record)
	if !isRecord {
		if r, err = s.readRecord(org, n.Source.ID); err != nil {
			return actors.NotificationBody{}, err
		}
	}
	name, _ := event.NotificationName()
	dst = append(append(dst, `{"event":"`...), name...)
	dst = append(n.Booked.Time().AppendFormat(append(dst, `","timestamp":"`...), instantLayout), `","subscription":`...)
	dst = appendSubscription(dst, r, &progress)
	dst = strconv.AppendInt(append(dst, `,"partner_id":`...), r.Partner, 10)
	dst = append(append(dst, `,"initial_payment_id":"`...), r.InitialPayment.String()...)
	dst = append(dst, `","metadata":`...)
	if dst = append(dst, r.Metadata...); r.Metadata == nil {
		dst = append(dst, `{}`...)
	}
	return actors.NotificationBody{Type: name, Data: append(dst, '}')}, nil
}

func (s *Service) readRecord(org, id ledger.ID) (*subscription.Record, error) {
	view := s.runtime.Journal.View()
	defer view.Close()
	r, found, err := load(view, org, id)
	if err == nil && !found {
		err = fmt.Errorf("subscription %v has a notice but no record", id)
	}
	return r.Record, err
}

// appendSubscription writes the subscription in the state just after the event. The amount is a JSON
// number in minor units, with all digits.
func appendSubscription(dst []byte, r *subscription.Record, s *subscription.Progress) []byte {
	dst = append(append(dst, `{"id":"`...), r.ID.String()...)
	dst = append(append(dst, `","status":"`...), s.Status()...)
	dst = r.Amount.AppendDecimal(append(dst, `","amount":`...))
	dst = schema.AppendText(append(dst, `,"currency":`...), string(r.Asset.Currency))
	dst = schema.AppendText(append(dst, `,"network":`...), string(r.Asset.Network))
	dst = append(append(dst, `,"env":"`...), r.Asset.Env.String()...)
	dst = strconv.AppendInt(append(dst, `","period_days":`...), int64(r.PeriodDays), 10)
	dst = append(dst, `,"next_renewal_at":`...)
	if at, isScheduled := s.NextRenewal(); isScheduled {
		dst = append(at.Time().AppendFormat(append(dst, '"'), instantLayout), '"')
	} else {
		dst = append(dst, "null"...)
	}
	dst = strconv.AppendUint(append(dst, `,"renewals":`...), s.Renewals, 10)
	dst = append(dst, `,"last_transaction_id":`...)
	if s.RenewalsBegun > 0 {
		dst = append(append(append(dst, '"'), s.LastTransaction.String()...), '"')
	} else {
		dst = append(dst, "null"...)
	}
	return append(dst, '}')
}
