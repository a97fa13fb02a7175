package snapshots_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/actors"
	"mizan/actors/directory"
	live "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/internal/secret"
	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
)

// market is what a partner of the first organization has done whose terminals
// hold, refund, convert and refuse, and whose payers act.
type market struct {
	partner int64
	stall   *trader          // while it is open
	volumes []payment.Volume // a day's and a month's of the sandbox's partner, in USD

	refunded  *payment.Record // twice, in parts
	returned  *payment.Record // in part refunded, then taken back by the rail
	returning *payment.Record // its refund is under way
	unmoved   *payment.Record // its refund was refused
	captured  *payment.Record // a part of what was held, and of that a part refunded
	held      *payment.Record
	voided    *payment.Record
	converted *payment.Record // and refunded in part
	indebted  *payment.Record // converted, and its fee is more than its amount
	rerouted  *payment.Record // a payout that its first terminal refused
	acting    *payment.Record // waits for its payer, its card is sealed
	acted     *payment.Record
	hosted    *payment.Record // waits for its payer
	continued *payment.Record
	keyed     *payment.Record // created and refunded with idempotency keys
	deposited *payment.Record // on a chain, converted, and the rail has keys of its own
}

// The market's terminals: each is found by its currency.
var marketTerminals = []struct {
	kind   words.TerminalType
	params string
}{
	{words.PaymentTerminal, `{"currencies":["USD"],"fee_bps":"250","fee_fixed":"7","fee_refundable":true}`},
	{words.PaymentTerminal, `{"currencies":["EUR"],"two_phase":true,"hold_ttl_seconds":3600,"fee_bps":"100","fee_mode":"on_top","fee_refundable":true}`},
	{words.PaymentTerminal, `{"currencies":["GBP"],"settlement_currency":"USD","fee_bps":"300","fee_refundable":true}`},
	{words.PaymentTerminal, `{"currencies":["CHF"],"settlement_currency":"USD","fee_fixed":"5000"}`},
	{words.PaymentTerminal, `{"currencies":["KZT"],"priority":1,"fail":"rejected","fee_fixed":"3"}`},
	{words.PaymentTerminal, `{"currencies":["KZT"],"priority":2,"fee_fixed":"5"}`},
	{words.PaymentTerminal, `{"currencies":["USDT"],"networks":["tron"],"settlement_currency":"USD","description":"a deposit","fee_bps":"10"}`},
	{words.PayoutTerminal, `{"currencies":["USD"],"two_phase":true,"hold_ttl_seconds":3600,"fee_bps":"50"}`},
	{words.PayoutTerminal, `{"currencies":["EUR"],"settlement_currency":"USD","fee_fixed":"9"}`},
	{words.PayoutTerminal, `{"currencies":["KZT"],"priority":1,"fail":"rejected","fee_fixed":"3","fee_mode":"on_top"}`},
	{words.PayoutTerminal, `{"currencies":["KZT"],"priority":2,"fee_fixed":"5"}`},
}

// trader is the market's partner at its stall.
type trader struct {
	*house
	town  *town
	owner *words.Partner
}

// open sets up the market.
func (m *market) open(h *house, w *town) *trader {
	ctx, t := h.t.Context(), h.t
	t.Helper()
	key := actors.Key{Scope: actors.KeyOfAdmin, Text: "a trader"}
	once := directory.Once(ctx, key, func(any) directory.Answer { return directory.Answer{Status: 201, Body: []byte(`{"name":"Trader"}`)} })
	owner, err := h.directory.CreatePartner(once, w.first.Org, words.PartnerDraft{Name: "Trader", Login: "trader"}, []byte("nine-Lions-paint"))
	must(t, err)
	m.partner = owner.Number
	for _, terminal := range marketTerminals {
		_, err := h.directory.CreateTerminal(ctx, w.first.Org, words.TerminalDraft{
			Partner: owner.Number, Name: "stall", Provider: words.Simulator, Type: terminal.kind, ProviderParams: []byte(terminal.params),
		})
		must(t, err)
	}
	for pair, value := range map[[2]money.Currency]string{{"GBP", "USD"}: "1.3333", {"CHF", "USD"}: "1.1", {"EUR", "USD"}: "1.0907", {"USDT", "USD"}: "0.9987"} {
		rate, err := money.ParseRate(value)
		must(t, err)
		_, err = h.directory.PutRate(ctx, w.first.Org, words.RateDraft{From: pair[0], To: pair[1], Value: rate})
		must(t, err)
	}
	m.bounded(h, w)
	return &trader{h, w, owner}
}

// bounded puts limits on the market's partner, and on the sandbox's, that all
// their transactions keep: each currency's volumes, of several scopes.
func (m *market) bounded(h *house, w *town) {
	most, often := money.FromUint64(1<<50), int64(100)
	for i, draft := range []words.LimitDraft{
		{Partner: m.partner, Kind: words.DailyVolume, Currency: "USD"},
		{Partner: m.partner, Kind: words.MonthlyVolume, Currency: "USD", Type: words.PayoutTerminal},
		{Partner: m.partner, Kind: words.MonthlyVolume, Currency: "EUR"},
		{Partner: m.partner, Kind: words.DailyVolume, Currency: "EUR", Type: words.PaymentTerminal},
		{Partner: m.partner, Kind: words.DailyVolume, Currency: "GBP", Scope: words.ScopePartner},
		{Partner: m.partner, Kind: words.DailyVolume, Currency: "KZT"},
		{Partner: m.partner, Kind: words.DailyVolume, Currency: "USD", Scope: words.ScopeCard},
		{Partner: w.first.Partner, Kind: words.DailyVolume, Currency: "USD"},
		{Partner: w.first.Partner, Kind: words.MonthlyVolume, Currency: "USD"},
	} {
		draft.Env, draft.MaxAmount = "prod", &most
		l, err := h.directory.CreateLimit(h.t.Context(), w.first.Org, draft)
		must(h.t, err)
		if i >= 7 {
			m.volumes = append(m.volumes, payment.Volume{Limit: l.ID, Window: l.CounterWindow(ledger.DayWindow(ledger.DateOf(start)))})
		}
	}
	_, err := h.directory.CreateLimit(h.t.Context(), w.first.Org, words.LimitDraft{
		Partner: m.partner, Kind: words.Velocity, Env: "prod", MaxCount: &often, Window: "hour",
	})
	must(h.t, err)
}

// settlesIn makes a terminal of the sandbox's partner that converts.
func (h *house) settlesIn(w *town, currency money.Currency) ledger.ID {
	h.t.Helper()
	terminal, err := h.directory.CreateTerminal(h.t.Context(), w.first.Org, words.TerminalDraft{
		Partner: w.first.Partner, Name: "converts", Provider: words.Simulator, Type: words.PaymentTerminal,
		ProviderParams: []byte(`{"priority":9,"settlement_currency":"` + string(currency) + `"}`),
	})
	must(h.t, err)
	return terminal.ID
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fill has the market's transactions, and leaves the clock 61 minutes later.
func (m *market) fill(h *house, w *town) {
	s := m.open(h, w)
	m.stall = s
	const plain, challenged, password = "4242424242424242", "4000000000003220", "4000002500003155"
	s.withTime(w)
	h.advance(61 * time.Minute)

	m.refunded = s.pay("USD", plain, 1_001)
	s.refund(m.refunded, 333)
	m.refunded = s.refund(m.refunded, 334)
	s.refund(s.pay("USD", plain, 1_002), 0)
	m.unmoved = s.refund(s.pay("USD", "4000000000005126", 1_003), 0)
	s.refund(s.pay("USD", "4000000000007726", 1_004), 500)
	m.returned = s.pay("USD", "4000000000000259", 1_005)
	s.refund(m.returned, 400)

	part := money.FromUint64(1_500)
	m.captured = s.commit(s.pay("EUR", plain, 2_000), &part)
	m.captured = s.refund(m.captured, 701)
	s.commit(s.pay("EUR", plain, 2_001), nil)
	m.voided = s.cancel(s.pay("EUR", plain, 2_002))

	m.converted = s.pay("GBP", plain, 1_006)
	m.converted = s.refund(m.converted, 501)
	s.refund(s.refund(s.pay("GBP", plain, 1_007), 333), 0)
	m.indebted = s.pay("CHF", plain, 100)
	s.refund(s.pay("CHF", plain, 101), 50)

	s.pay("KZT", plain, 1_008)
	m.rerouted = s.pay("KZT", plain, -300)
	s.commit(s.pay("USD", plain, -200), nil)
	half := money.FromUint64(100)
	s.commit(s.pay("USD", plain, -201), &half)
	s.cancel(s.pay("USD", plain, -202))
	s.pay("EUR", plain, -203)
	s.method("KZT", "sepa", -204, "sim-bank-2")

	m.acted = s.answer(s.pay("USD", challenged, 1_009), true)
	s.answer(s.pay("USD", challenged, 1_010), false)
	s.material(s.pay("USD", password, 1_011), `{"otp":"123456"}`)
	s.material(s.pay("USD", password, 1_012), `{"otp":"654321"}`)
	s.cancel(s.pay("USD", challenged, 1_013))
	m.continued = s.proceed(s.host(1_014), plain)
	m.keyed = s.withKeys()
	m.deposited = s.answer(s.deposit(1_234_567), true)

	h.advance(61 * time.Second)
	m.held = s.pay("EUR", plain, 2_003)
	s.pay("USD", plain, -205)
	m.acting = s.pay("USD", challenged, 1_016)
	m.hosted = s.host(1_017)
	m.returned = s.now(m.returned)
}

// close leaves a refund under way.
func (m *market) close() {
	m.returning = m.stall.refund(m.stall.pay("USD", "4000000000007726", 1_015), 0)
	m.stall = nil
}

// withTime has what only time brings to an end.
func (s *trader) withTime(w *town) {
	s.pay("EUR", "4242424242424242", 1_999)     // its hold lapses
	s.pay("USD", "4000000000003220", 998)       // its payer never acts
	s.host(997)                                 // its payer never comes
	s.pay("KZT", "4000000000000077", 1_000_000) // slow, and so is not tried elsewhere
}

// pay makes a payment with a card, or with a negative amount a payout.
func (s *trader) pay(currency money.Currency, card string, amount int64) *payment.Record {
	s.t.Helper()
	c := s.create(currency, amount)
	c.Request.Method, c.Card = payment.BankCard, &secret.Card{Number: []byte(card), CVV: []byte("123")}
	return s.done(s.payments.Create(c))
}

func (s *trader) create(currency money.Currency, amount int64) live.Create {
	kind := payment.Payment
	if amount < 0 {
		kind, amount = payment.Payout, -amount
	}
	return live.Create{Org: s.town.first.Org, Partner: s.owner, Request: payment.Request{
		Type: kind, Amount: money.FromUint64(uint64(amount)), Asset: money.Asset{Currency: currency, Env: money.Prod},
		ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no",
	}}
}

// done tells what a client was answered.
func (s *trader) done(result live.Result, err error) *payment.Record {
	s.t.Helper()
	must(s.t, err)
	s.started[result.Record.ID] = result.Stamp.Started
	if result.Record.Hosted {
		s.town.tellHosted(s.town.first.Org, result.Record)
	} else {
		s.town.tell(s.town.first.Org, result.Record)
	}
	return result.Record
}

// now is a transaction as it is stored.
func (s *trader) now(r *payment.Record) *payment.Record {
	s.t.Helper()
	result, err := s.payments.Read(s.town.first.Org, s.owner.Number, r.ID)
	must(s.t, err)
	return result.Record
}

func (s *trader) command(r *payment.Record) live.Command {
	return live.Command{Org: s.town.first.Org, Partner: s.owner.Number, ID: r.ID}
}

// refund asks for so much back; 0: for all that is left.
func (s *trader) refund(r *payment.Record, amount uint64) *payment.Record {
	s.t.Helper()
	var part *money.Amount
	if amount != 0 {
		a := money.FromUint64(amount)
		part = &a
	}
	result, err := s.payments.Refund(live.Amount{Command: s.command(r), Amount: part})
	must(s.t, err)
	s.town.tellMove("PUT", "", s.town.first.Org, result.Record, `{"params":{"type":"refund"}}`)
	return result.Record
}

func (s *trader) commit(r *payment.Record, amount *money.Amount) *payment.Record {
	s.t.Helper()
	return s.moved("commit/")(s.payments.Commit(live.Amount{Command: s.command(r), Amount: amount}))
}

func (s *trader) cancel(r *payment.Record) *payment.Record {
	s.t.Helper()
	result, err := s.payments.Cancel(s.command(r))
	must(s.t, err)
	s.town.tellMove("PUT", "", s.town.first.Org, result.Record, `{"params":{"type":"cancel"}}`)
	return result.Record
}

func (s *trader) moved(path string) func(live.Result, error) *payment.Record {
	return func(result live.Result, err error) *payment.Record {
		s.t.Helper()
		must(s.t, err)
		s.town.tellMove("POST", path, s.town.first.Org, result.Record, `{}`)
		return result.Record
	}
}

func (s *trader) material(r *payment.Record, object string) *payment.Record {
	s.t.Helper()
	return s.moved("additional_params_for_auth/")(s.payments.Complete(live.Material{Command: s.command(r), Object: []byte(object)}))
}

// method makes a payout of another type, whose recipient chooses a bank.
func (s *trader) method(currency money.Currency, method string, amount int64, bank string) {
	s.t.Helper()
	c := s.create(currency, amount)
	c.Request.Method = method
	r := s.done(s.payments.Create(c))
	s.moved("choose_target_destination/")(s.payments.Choose(live.Choice{Command: s.command(r), Bank: bank}))
}

// answer is the payer on the rail's page, who then comes back.
func (s *trader) answer(r *payment.Record, approve bool) *payment.Record {
	s.t.Helper()
	page := r.Action.URL
	if page == "" {
		page = r.Action.Page
	}
	address, err := url.Parse(page)
	must(s.t, err)
	_, _, err = s.simulator.Decide(r.Terminal, r.ID, address.Query().Get(simulator.TokenParam), approve)
	must(s.t, err)
	result, err := s.payments.Returned(s.town.first.Org, r.ID)
	must(s.t, err)
	s.town.tellMove("GET", "", s.town.first.Org, result.Record, "null")
	return result.Record
}

// deposit makes a payment on a chain, of a link.
func (s *trader) deposit(amount int64) *payment.Record {
	s.t.Helper()
	c := s.create("USDT", amount)
	c.Request.Method, c.Request.Described, c.Request.Description = "crypto", true, "mine"
	return s.done(s.payments.Create(c))
}

func (s *trader) host(amount int64) *payment.Record {
	s.t.Helper()
	c := s.create("USD", amount)
	c.Hosted, c.Request.TxID = true, "hosted-"+c.Request.Amount.String()
	return s.done(s.payments.Create(c))
}

func (s *trader) proceed(r *payment.Record, card string) *payment.Record {
	s.t.Helper()
	return s.moved("continue/")(s.payments.Continue(live.Continue{
		Command: s.command(r), Credentials: payment.Credentials{Method: payment.BankCard, CardBIN: card[:6], CardLast4: card[12:], CardPrint: "print"},
		Card: &secret.Card{Number: []byte(card), CVV: []byte("123")},
	}))
}

// withKeys makes a payment and refunds a part of it, each with an idempotency key.
func (s *trader) withKeys() *payment.Record {
	s.t.Helper()
	key := func(text string) actors.Key {
		return actors.Key{Scope: actors.KeyOfPartner(s.owner.Number), Text: text, Hash: [32]byte{byte(len(text))}}
	}
	c := s.create("USD", 1_018)
	c.Request.Method, c.Card, c.Key = payment.BankCard, &secret.Card{Number: []byte("4242424242424242"), CVV: []byte("123")}, key("create/1")
	r := s.done(s.payments.Create(c))
	command := s.command(r)
	command.Key = key("refund")
	part := money.FromUint64(18)
	result, err := s.payments.Refund(live.Amount{Command: command, Amount: &part})
	must(s.t, err)
	return result.Record
}

// The market is what it is meant to be: else its tests would prove nothing.
func TestTheMarketHasSomethingOfEverything(t *testing.T) {
	w := settle(t)
	m := &w.market
	for _, c := range []struct {
		name   string
		record *payment.Record
		status payment.Status
		holds  func(*payment.Record) bool
	}{
		{"refunded", m.refunded, payment.Refunded, func(r *payment.Record) bool { return r.Refunded == money.FromUint64(667) && !r.FeeBack.IsZero() }},
		{"returned", m.returned, payment.Reversed, func(r *payment.Record) bool { return r.Refunded == money.FromUint64(400) && r.ReturnID != ledger.ID{} }},
		{"returning", m.returning, payment.Refunding, func(r *payment.Record) bool { return r.Op != nil }},
		{"unmoved", m.unmoved, payment.Charged, func(r *payment.Record) bool {
			return r.LastRefund() != nil && r.LastRefund().Status == payment.RefundFailed && r.Refunded.IsZero()
		}},
		{"captured", m.captured, payment.Refunded, func(r *payment.Record) bool { return r.Captured == money.FromUint64(1_500) && !r.Refunded.IsZero() }},
		{"held", m.held, payment.PaymentHeld, func(r *payment.Record) bool { return r.HoldUntil != 0 }},
		{"voided", m.voided, payment.Failed, func(r *payment.Record) bool { return r.Failure.Code == payment.CancelledByCaller }},
		{"converted", m.converted, payment.Refunded, func(r *payment.Record) bool { return !r.Rate.IsZero() && r.Dest != r.Merchant.Abs }},
		{"indebted", m.indebted, payment.Charged, func(r *payment.Record) bool { return !r.Rate.IsZero() && r.Merchant.Negative }},
		{"rerouted", m.rerouted, payment.Charged, func(r *payment.Record) bool { return r.Type == payment.Payout && len(r.Attempts) == 1 }},
		{"acting", m.acting, payment.ActionRequired, func(r *payment.Record) bool { return r.KeepCard && r.Action != nil }},
		{"acted", m.acted, payment.Charged, func(r *payment.Record) bool { return !r.KeepCard && r.Action == nil }},
		{"hosted", m.hosted, payment.Created, func(r *payment.Record) bool { return r.Hosted && r.Route == "" }},
		{"continued", m.continued, payment.Charged, func(r *payment.Record) bool { return r.Hosted && r.Route != "" }},
		{"deposited", m.deposited, payment.Charged, func(r *payment.Record) bool { return !r.Rate.IsZero() && r.Asset.Network != "" && r.RailMeta != nil }},
		{"keyed", m.keyed, payment.Refunded, func(r *payment.Record) bool { return r.Refunded == money.FromUint64(18) }},
	} {
		if c.record.Status != c.status || !c.holds(c.record) {
			t.Errorf("%s is %s: %+v", c.name, c.record.Status, c.record)
		}
	}
	var ended []string
	for _, line := range w.answers {
		for _, reason := range []string{"hold expired", "payer action expired", "authentication_failed"} {
			if strings.Contains(line, reason) {
				ended = append(ended, reason)
			}
		}
	}
	if !slices.Contains(ended, "authentication_failed") {
		t.Errorf("no payer was refused: %v", ended)
	}
}
