package turnover_test

import (
	"encoding/hex"
	"errors"
	"reflect"
	"slices"
	"testing"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/ledger/turnover"
)

// booked is 2026-11-29T10:15:30.123456Z.
const booked = ledger.Micros(1_795_947_330_123_456)

// A code's number is in stored rows, so it never changes.
func TestEveryCodeHasItsNumberForEver(t *testing.T) {
	want := []payment.Code{
		1: "unexpected_card", 2: "return_urls_missing", 3: "no_terminal", 4: "insufficient_balance", 5: "fee_exceeds_amount",
		6: "amount_out_of_range", 7: "no_exchange_rate", 8: "limit_exceeded", 9: "anti_fraud", 10: "card_declined", 11: "insufficient_funds",
		12: "expired_card", 13: "processing_error", 14: "authentication_failed", 15: "payer_action_expired", 16: "interrupted",
		17: "forced_by_terminal", 18: "hold_expired", 19: "cancelled",
	}
	for number, code := range want {
		var f turnover.Figures
		if f.DeclineCounts[number] = 1; number > 0 && f.Declines()[0].Code != code {
			t.Errorf("number %d is %v, want %s", number, f.Declines(), code)
		}
	}
	for _, code := range payment.Codes() {
		if isNamed := slices.Contains(turnover.Codes(), code); isNamed == (code == payment.RefundDeclined) { // RefundDeclined is a code of refunds only
			t.Errorf("%s is named: %v", code, isNamed)
		}
	}
}

// record returns a payment of 1000 USD in prod.
func record(change func(*payment.Record)) *payment.Record {
	r := &payment.Record{Partner: 7, Request: payment.Request{Type: payment.Payment, Amount: money.FromUint64(1_000), Asset: money.Asset{Currency: "USD", Env: money.Prod}}}
	change(r)
	return r
}

func TestWhatEventsCountAs(t *testing.T) {
	same := func(*payment.Record) {}
	fails := func(code payment.Code) func(*payment.Record) {
		return func(r *payment.Record) { r.Failure.Code = code }
	}
	refunds := func(r *payment.Record) {
		r.Refunds = []payment.RefundRecord{
			{Amount: money.FromUint64(1), Status: payment.RefundSucceeded}, {Amount: money.FromUint64(2), Status: payment.RefundFailed},
			{Amount: money.FromUint64(3), Status: payment.RefundSucceeded}, {Amount: money.FromUint64(4), Status: payment.RefundIsPending},
		}
	}
	attempts := func(r *payment.Record) {
		r.Failure.Code = payment.PayerActionExpired
		for _, code := range []payment.Code{payment.ExpiredCard, payment.CardDeclined} {
			r.EndedAttempts = append(r.EndedAttempts, payment.EndedAttempt{Terminals: []payment.Attempt{{}, {Failure: payment.Failure{Code: code}}}})
		}
	}
	for _, c := range []struct {
		name    string
		event   payment.Event
		earlier int
		record  *payment.Record
		want    string // "" is nothing
	}{
		{"a charge", payment.Settle, 0, record(same), "charged 1000"},
		{"a capture of a part", payment.Capture, 0, record(func(r *payment.Record) { r.CapturedAmount = money.FromUint64(400) }), "charged 400"},
		{"a charge that was reversed later", payment.Settle, 0, record(fails(payment.TakenBack)), "charged 1000"},
		{"a refusal before routing", payment.Refuse, 0, record(fails(payment.NoTerminal)), "no_terminal"},
		{"a decline", payment.Decline, 0, record(fails(payment.CardDeclined)), "card_declined"},
		{"a decline that was corrected later", payment.Decline, 0, record(func(r *payment.Record) {
			r.OriginalRejection, r.Failure.Code = payment.ExpiredCard, payment.ProcessingError
		}), "expired_card"},
		{"a correction", payment.Correct, 0, record(fails(payment.ProcessingError)), ""},
		{"a failure", payment.Fail, 0, record(fails(payment.Interrupted)), "interrupted"},
		{"a void", payment.Void, 0, record(fails(payment.CancelledByCaller)), "cancelled"},
		{"the end of the payer's time", payment.Expire, 0, record(fails(payment.PayerActionExpired)), "payer_action_expired"},
		{"a payer who gave up", payment.Abandon, 0, record(fails(payment.CancelledByCaller)), "cancelled"},
		{"an unknown reason", payment.Decline, 0, record(fails("of_a_later_release")), "other"},
		{"the first attempt", payment.EndAttempt, 0, record(attempts), "expired_card"},
		{"the second attempt", payment.EndAttempt, 1, record(attempts), "card_declined"},
		{"the expiry after two attempts", payment.Expire, 0, record(attempts), "payer_action_expired"},
		{"the first refund", payment.RefundDone, 0, record(refunds), "refunded 1"},
		{"the second refund that succeeded", payment.RefundDone, 1, record(refunds), "refunded 3"},
		{"a return", payment.Return, 0, record(func(r *payment.Record) { r.Type = payment.Payout }), "reversed 1000"},
		{"a reversal, whose return counts", payment.Reverse, 0, record(same), ""},
		{"another terminal", payment.Reroute, 0, record(same), ""},
		{"late money", payment.SettleLate, 0, record(same), ""},
		{"late money of a refused attempt", payment.SettleAttempt, 0, record(same), ""},
		{"late money given back", payment.SuspenseRefunded, 0, record(refunds), ""},
		{"a refund that was asked for", payment.Refund, 0, record(refunds), ""},
	} {
		e := &ledger.Event{Seq: 9, Booked: booked, Name: string(c.event)}
		if !turnover.IsCounted(e.Name) {
			if c.want != "" {
				t.Errorf("%s is not counted", c.name)
			}
			continue
		}
		item, err := turnover.ItemOf(e, c.record, func() (int, error) { return c.earlier, nil })
		if err != nil || item.Figures.LastBooked != booked || item.PartnerDay != (turnover.PartnerDay{Env: money.Prod, Partner: 7, Day: ledger.DateOf(booked.Time())}) || item.Key != (turnover.Key{Type: payment.Payment, Currency: "USD"}) {
			t.Errorf("%s: %+v, %v", c.name, item, err)
		}
		if got := textOf(&item.Figures); got != c.want {
			t.Errorf("%s counts as %q, want %q", c.name, got, c.want)
		}
	}
}

// textOf formats figures that count only one event.
func textOf(f *turnover.Figures) (text string) {
	for name, sum := range map[string]turnover.Sum{"charged": f.Charges, "refunded": f.Refunds, "reversed": f.Chargebacks} {
		if sum.Count > 0 {
			text += name + " " + sum.Amount.String()
		}
	}
	for _, d := range f.Declines() {
		text += string(d.Code)
	}
	return text
}

// A record is damaged if it lacks a refund for which there is an event.
func TestMissingRefundIsAnError(t *testing.T) {
	e := &ledger.Event{Name: string(payment.RefundDone)}
	never := func() (int, error) { panic("asked for earlier events") }
	if _, err := turnover.ItemOf(e, record(func(*payment.Record) {}), never); err == nil {
		t.Error("an event without its refund was counted")
	}
	two := record(func(r *payment.Record) {
		r.Refunds = []payment.RefundRecord{{Status: payment.RefundSucceeded}, {Status: payment.RefundSucceeded}}
	})
	if _, err := turnover.ItemOf(e, two, func() (int, error) { return 2, nil }); err == nil {
		t.Error("the event of a third refund was counted, although there are two")
	}
	unreadable := errors.New("unreadable")
	if _, err := turnover.ItemOf(e, two, func() (int, error) { return 0, unreadable }); !errors.Is(err, unreadable) {
		t.Errorf("%v", err)
	}
}

// Amounts in an asset with an unknown scale are not added up. All unknown networks share one key, so clients cannot create
// rows by inventing names of networks.
func TestUnknownNetworksCountTogetherWithoutAmounts(t *testing.T) {
	for network, want := range map[money.Network]turnover.Key{
		"tron":  {Type: payment.Payment, Currency: "USDT", Network: "tron"},
		"":      {Type: payment.Payment, Currency: "USDT"},
		"bogus": {Type: payment.Payment, Currency: "USDT"},
	} {
		r := record(func(r *payment.Record) { r.Asset = money.Asset{Currency: "USDT", Network: network, Env: money.Prod} })
		item, err := turnover.ItemOf(&ledger.Event{Name: string(payment.Settle)}, r, nil)
		if hasAmount := !item.Figures.Charges.Amount.IsZero(); err != nil || item.Key != want || item.Figures.Charges.Count != 1 || hasAmount != (network == "tron") {
			t.Errorf("%q: %+v, %v", network, item, err)
		}
	}
}

func TestAttemptsAndReasons(t *testing.T) {
	var f turnover.Figures
	f.Charges.Count = 5
	f.DeclineCounts[0], f.DeclineCounts[10], f.DeclineCounts[12], f.DeclineCounts[19] = 2, 1, 7, 2
	if got := f.Attempts(); got != 17 {
		t.Errorf("%d attempts", got)
	}
	want := []turnover.Decline{{"expired_card", 7}, {"other", 2}, {"cancelled", 2}, {"card_declined", 1}}
	if got := f.Declines(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// sample returns a row with all kinds of figures.
func sample() *turnover.Row {
	f := &turnover.Figures{
		Charges: turnover.Sum{Count: 3, Amount: money.FromUint64(1_250)}, Refunds: turnover.Sum{Count: 1, Amount: money.FromUint64(250)},
		Chargebacks: turnover.Sum{Count: 2, Amount: money.Max}, LastBooked: booked,
	}
	f.DeclineCounts[0], f.DeclineCounts[10] = 1, 300
	return &turnover.Row{Seq: 70_000, Day: turnover.Day{
		{Type: payment.Payment, Currency: "USDT", Network: "tron"}: f,
		{Type: payment.Payout, Currency: "EUR"}:                    {LastBooked: 1},
	}}
}

// The stored form never changes, because rows are read by later releases.
func TestStoredFormIsPinned(t *testing.T) {
	row := sample()
	const want = "01f0a20402010345555200" + "01" + "0000" + "0000" + "0000" + "ff" +
		"0101045553445404" + "74726f6e" + "c0ed9695f9ac9803" + "030204e2" + "0101fa" +
		"0220ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff" + "0001" + "0aac02" + "ff"
	if got := hex.EncodeToString(row.Encode()); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
	if got, err := turnover.Decode(row.Encode()); err != nil || !reflect.DeepEqual(got, row) {
		t.Errorf("read %+v, %v", got, err)
	}
	place := turnover.PartnerDay{Env: money.Test, Partner: 258, Day: ledger.DateOf(booked.Time())}
	if key := place.Key(); hex.EncodeToString(key) != "7602000000000000010200005133" {
		t.Errorf("the key is %x", key)
	}
	if got, err := turnover.ParseKey(place.Key()); err != nil || got != place {
		t.Errorf("read %+v, %v", got, err)
	}
	key, counted := turnover.EncodePosition(300)
	if seq, err := turnover.DecodePosition(counted); err != nil || seq != 300 || string(key) != "v" {
		t.Errorf("%q: %d, %v", key, seq, err)
	}
}

func TestDamagedRowsAreErrors(t *testing.T) {
	row := sample().Encode()
	for n := range row {
		if _, err := turnover.Decode(row[:n]); n != 4 && n != 19 && err == nil { // 4 bytes are a row without figures, and 19 bytes are a row with the figures of the first key
			t.Errorf("%d bytes were read", n)
		}
	}
	for _, damaged := range [][]byte{append(slices.Clone(row), row[4:]...), append([]byte{2}, row[1:]...), append(slices.Clone(row), 0)} {
		if _, err := turnover.Decode(damaged); err == nil {
			t.Errorf("%x was read", damaged)
		}
	}
	for _, key := range [][]byte{nil, {'v'}, make([]byte, 14), append([]byte{'v', 3}, make([]byte, 12)...)} {
		if _, err := turnover.ParseKey(key); err == nil {
			t.Errorf("the key %x was read", key)
		}
	}
	for _, counted := range [][]byte{nil, {1}, {2, 1}, {1, 1, 1}} {
		if _, err := turnover.DecodePosition(counted); err == nil {
			t.Errorf("%x was read", counted)
		}
	}
}

// A later release may have codes that this release does not know.
func TestUnknownCodeIsReadAsOther(t *testing.T) {
	row := (&turnover.Row{Seq: 1, Day: turnover.Day{{Type: payment.Payment, Currency: "USD"}: {}}}).Encode()
	later := append(row[:len(row)-1:len(row)-1], 200, 3, 201, 4, 0xff)
	got, err := turnover.Decode(later)
	if err != nil || got.Day[turnover.Key{Type: payment.Payment, Currency: "USD"}].Declines()[0] != (turnover.Decline{Code: turnover.Other, Count: 7}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestSumsDoNotOverflow(t *testing.T) {
	day := turnover.Day{{Type: payment.Payment, Currency: "USD"}: {Charges: turnover.Sum{Count: 1, Amount: money.Max}}}
	sum := make(turnover.Day)
	if err := sum.Add(day); err != nil {
		t.Fatal(err)
	}
	if err := sum.Add(day); err == nil {
		t.Error("twice the largest amount was added up")
	}
	if day[turnover.Key{Type: payment.Payment, Currency: "USD"}].Charges.Count != 1 {
		t.Error("the addend has changed")
	}
}

// A row that Decode accepts is the same after it is encoded and decoded again.
func FuzzDecode(f *testing.F) {
	f.Add(sample().Encode())
	f.Add([]byte{1, 1})
	f.Fuzz(func(t *testing.T, row []byte) {
		decoded, err := turnover.Decode(row)
		if err != nil {
			return
		}
		if again, err := turnover.Decode(decoded.Encode()); err != nil || !reflect.DeepEqual(again, decoded) {
			t.Fatalf("%+v is read again as %+v, %v", decoded, again, err)
		}
	})
}
