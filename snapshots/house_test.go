package snapshots_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/actors"
	"mizan/actors/account"
	"mizan/actors/directory"
	live "mizan/actors/payment"
	"mizan/actors/provider/simulator"
	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/ledger"
	words "mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
	"mizan/posting/store"
	"mizan/snapshots"
)

var (
	start = time.Date(2026, 9, 3, 10, 15, 30, 123456000, time.UTC)
	usd   = money.Asset{Currency: "USD", Env: money.Prod}
	quiet = slog.New(slog.DiscardHandler)
)

// options open a store that is cheap to copy.
func options(dir string) store.Options { return store.Options{Dir: dir, MemTable: 1 << 20, Log: quiet} }

// house is the whole platform but for its API, on a store of its own.
type house struct {
	t         testing.TB
	dir       string
	clock     *clock.Manual
	journal   *posting.Journal
	runtime   *actors.Runtime
	directory *directory.Service
	payments  *live.Service
	simulator *simulator.Simulator
	started   map[ledger.ID]ledger.Micros // of what create has made
}

func open(t testing.TB, w *town) *house { return openThrough(t, w, nil) }

func openThrough(t testing.TB, w *town, through func(posting.Log) posting.Log) *house {
	t.Helper()
	dir := w.dir
	h := &house{t: t, dir: dir, clock: clock.NewManual(start), started: make(map[ledger.ID]ledger.Micros)}
	h.journal = openJournal(t, w, h.clock, through)
	h.runtime = actors.New(actors.Options{Clock: h.clock, Journal: h.journal, Log: quiet, Sealer: keyring(t, w.dir)})
	var err error
	if h.directory, err = directory.Start(h.runtime, keyring(t, dir)); err != nil {
		t.Fatal(err)
	}
	h.simulator, err = simulator.Open(simulator.Options{
		Path: filepath.Join(dir, "simulator.log"), Clock: h.clock, BaseURL: "https://mizan.example", Key: make([]byte, simulator.KeySize),
	})
	if err != nil {
		t.Fatal(err)
	}
	accounts := account.New(h.runtime)
	h.payments = live.New(live.Options{
		Runtime: h.runtime, Directory: h.directory, Admission: accounts, Sealer: keyring(t, dir),
		Providers:  map[string]actors.Provider{"simulator": h.simulator},
		CreateWait: 10 * time.Second, ProviderTimeout: 10 * time.Second, ActionTTL: 30 * time.Minute,
	})
	accounts.Recall(h.payments.Attempts)
	h.runtime.Start(live.Resumes)
	return h
}

// keyring is the directory's own, as a server keeps it.
func keyring(t testing.TB, dir string) *secret.Keyring {
	t.Helper()
	path := filepath.Join(dir, "keyring")
	k, err := secret.LoadKeyring(path)
	if errors.Is(err, fs.ErrNotExist) {
		k, err = secret.CreateKeyring(path, rand.Reader)
	}
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func openJournal(t testing.TB, w *town, clk clock.Clock, through func(posting.Log) posting.Log) *posting.Journal {
	t.Helper()
	j, err := posting.Open(posting.Options{Store: options(w.dir), Clock: clk, Log: quiet, Through: through, Days: w.days})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func (h *house) close() {
	h.t.Helper()
	h.runtime.Stop()
	if err := h.journal.Close(); err != nil {
		h.t.Error(err)
	}
	if err := h.simulator.Close(); err != nil {
		h.t.Error(err)
	}
}

func (h *house) advance(d time.Duration) {
	h.t.Helper()
	if err := h.runtime.Advance(h.clock.Now().Add(d)); err != nil {
		h.t.Fatal(err)
	}
}

// create makes a transaction of the organization's first partner.
func (h *house) create(demo directory.Demo, kind payment.Type, card string, amount uint64, txid string) *payment.Record {
	h.t.Helper()
	owner, known := h.directory.Partner(demo.Org, demo.Partner)
	if !known {
		h.t.Fatalf("partner %d is not there", demo.Partner)
	}
	result, err := h.payments.Create(live.Create{Org: demo.Org, Partner: owner, Request: payment.Request{
		Type: kind, TxID: txid, Amount: money.FromUint64(amount), Asset: usd, Method: payment.BankCard,
		ReturnURL: "https://shop.example/ok", FailURL: "https://shop.example/no", Described: true, Description: "a \"mug\" & <more>",
		MerchantMeta: []byte(`{"b":[1.50,null],"a":9007199254740993}`),
	}, Card: &secret.Card{Number: []byte(card), CVV: []byte("123")}})
	if err != nil {
		h.t.Fatal(err)
	}
	h.started[result.Record.ID] = result.Stamp.Started
	return result.Record
}

// town is a closed store with something of everything, and what its clients know.
type town struct {
	dir     string
	days    int // posting.Options.Days of whoever opens it
	first   directory.Demo
	second  directory.Demo
	charged *payment.Record // a payment of the first organization, with a fee
	refused *payment.Record // declined by the card
	back    *payment.Record // charged and taken back by the rail
	paid    *payment.Record // a payout
	waiting *payment.Record // a payout that the rail has not answered yet
	market  market
	answers []string // lines of an answers file
	started map[ledger.ID]ledger.Micros
	later   []func(*planter)
}

// The ways in which a town keeps its lines: as a server does, in daybooks until a
// page is full, or each group's on pages at once.
const (
	inDaybooks = 0
	onPages    = -1
)

// master is a town of which tests have copies.
type master struct {
	town
	once sync.Once
}

var masters = map[int]*master{inDaybooks: {town: town{days: inDaybooks}}, onPages: {town: town{days: onPages}}}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, built := range masters {
		if built.dir != "" {
			_ = os.RemoveAll(built.dir)
		}
	}
	for _, built := range fairs {
		if built.dir != "" {
			_ = os.RemoveAll(built.dir)
		}
	}
	if parishMaster.dir != "" {
		_ = os.RemoveAll(parishMaster.dir)
	}
	os.Exit(code)
}

// settle copies the town that a server leaves into a directory of the test's own.
func settle(t testing.TB) *town {
	t.Helper()
	return settleIn(t, inDaybooks)
}

// settleIn copies the town that keeps its lines in this way.
func settleIn(t testing.TB, days int) *town {
	t.Helper()
	built := masters[days]
	built.once.Do(func() {
		var err error
		if built.dir, err = os.MkdirTemp("", "mizan-snapshots-"); err != nil {
			t.Fatal(err)
		}
		built.fill(t)
	})
	if built.waiting == nil {
		t.Fatal("the town could not be built")
	}
	own := built.town
	own.started = maps.Clone(built.started)
	own.dir = filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(own.dir, os.DirFS(built.dir)); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(own.dir, "keyring"), 0o600); err != nil { // CopyFS makes it anybody's
		t.Fatal(err)
	}
	return &own
}

// eachWay runs a test on both towns, of which it may have as many copies as it likes.
func eachWay(t *testing.T, fn func(t *testing.T, settle func(testing.TB) *town)) {
	t.Helper()
	for _, way := range []struct {
		name string
		days int
	}{{"in daybooks", inDaybooks}, {"on pages", onPages}} {
		t.Run(way.name, func(t *testing.T) {
			fn(t, func(t testing.TB) *town { t.Helper(); return settleIn(t, way.days) })
		})
	}
}

func (w *town) fill(t testing.TB) {
	h := open(t, w)
	defer h.close()
	w.started = h.started
	sandbox, err := h.directory.Seed(context.Background(), directory.SeedInput{AdminToken: "an-administration-token"})
	if err != nil {
		t.Fatal(err)
	}
	w.first, w.second = sandbox.First, sandbox.Second
	w.administrate(h)
	w.market.fill(h, w)
	w.charged = h.create(w.first, payment.Payment, "4242424242424242", 10_199, "order-1")
	w.tell(w.first.Org, w.charged)
	w.refused = h.create(w.first, payment.Payment, "4000000000000002", 500, "order-2")
	w.tell(w.first.Org, w.refused)
	w.tell(w.first.Org, h.create(w.first, payment.Payment, "4000000000000119", 700, "order-3"))
	slow := h.create(w.first, payment.Payment, "4000000000000077", 800, "order-4")
	w.tell(w.first.Org, slow)
	w.tell(w.first.Org, h.create(w.first, payment.Payment, "4000000000000341", 900, "order-5"))
	w.back = h.create(w.first, payment.Payment, "4000000000000259", 1_000, "order-6")
	w.tell(w.first.Org, w.back)
	w.paid = h.create(w.first, payment.Payout, "4242424242424242", 1_100, "order-7")
	w.tell(w.first.Org, w.paid)
	w.tell(w.first.Org, h.create(w.first, payment.Payout, "4000000000000002", 1_200, "order-8"))
	w.tell(w.first.Org, h.create(w.first, payment.Payout, "4242424242424242", 1<<60, "order-9"))
	w.tell(w.second.Org, h.create(w.second, payment.Payment, "5555555555554444", 1_300, "order-1"))
	w.tell(w.second.Org, h.create(w.second, payment.Payment, "5555555555554444", 1_400, ""))
	h.advance(2 * time.Minute)
	waiting := h.create(w.first, payment.Payout, "4000000000000077", 1_500, "order-10")
	w.tell(w.first.Org, waiting)
	w.market.close()
	back, err := h.payments.Read(w.first.Org, w.first.Partner, w.back.ID) // the rail has taken it back since
	if err != nil || back.Record.Status != payment.Reversed {
		t.Fatalf("%+v, %v", back.Record, err)
	}
	w.back = back.Record
	w.waiting = waiting
}

// administrate has fees, keys, an overdraft and a second partner.
func (w *town) administrate(h *house) {
	ctx, t := context.Background(), h.t
	_, err := h.directory.CreateTerminal(ctx, w.first.Org, words.TerminalDraft{
		Partner: w.first.Partner, Name: "with a fee", Provider: words.Simulator, Type: words.PaymentTerminal,
		ProviderParams: []byte(`{"priority":-5,"fee_bps":"250","fee_fixed":"7"}`),
	})
	must(t, err)
	_, err = h.directory.CreateTerminal(ctx, w.first.Org, words.TerminalDraft{
		Partner: w.first.Partner, Name: "with a fee on top", Provider: words.Simulator, Type: words.PayoutTerminal,
		ProviderParams: []byte(`{"priority":-5,"fee_bps":"100","fee_mode":"on_top"}`),
	})
	must(t, err)
	key, _, err := h.directory.CreateAPIKey(ctx, w.first.Org, words.APIKeyDraft{Partner: w.first.Partner, Name: "second"})
	must(t, err)
	_, err = h.directory.RevokeAPIKey(ctx, w.first.Org, key.ID)
	must(t, err)
	other, err := h.directory.CreatePartner(ctx, w.first.Org, words.PartnerDraft{Name: "Other", Login: "other"}, []byte("nine-Lions-paint"))
	must(t, err)
	_, err = h.directory.PatchPartner(ctx, w.first.Org, other.Number, words.PartnerPatch{
		Overdraft: &[]words.Overdraft{{Asset: usd, Amount: money.FromUint64(500)}},
	})
	must(t, err)
	w.answers = append(w.answers,
		fmt.Sprintf(`{"method":"POST","path":"/api/v1/partners","organization_id":%q,"body":{},"status":201,"response":{"id":%d,"data":{"id":%d}}}`,
			w.first.Org, other.Number, other.Number),
		fmt.Sprintf(`{"method":"POST","path":"/api/v1/api_keys","organization_id":%q,"body":{},"status":201,"response":{"data":{"id":%q}}}`, w.first.Org, key.ID))
}

// tell notes what a client that created the transaction was answered.
func (w *town) tell(org ledger.ID, r *payment.Record) {
	w.answers = append(w.answers, answer(org, 201, r, w.show(r)))
}

// tellHosted notes the short answer to a hosted create.
func (w *town) tellHosted(org ledger.ID, r *payment.Record) {
	w.answers = append(w.answers, fmt.Sprintf(`{"method":"POST","path":"/api/v1/transactions","organization_id":%q,`+
		`"body":{"params":{"type":%q,"txid":%q,"amount":%q,"currency":"USD","hosted":true}},"status":201,"response":%s}`,
		org, r.Type, r.TxID, r.Amount, w.showShort(r)))
}

// tellMove notes what a client was answered that moved a transaction.
func (w *town) tellMove(method, path string, org ledger.ID, r *payment.Record, body string) {
	w.answers = append(w.answers, moveLine(method, path, org, r.ID, body, w.show(r)))
}

func moveLine(method, path string, org, id ledger.ID, body, response string) string {
	return fmt.Sprintf(`{"method":%q,"path":"/api/v1/transactions/%s%v","organization_id":%q,"body":%s,"status":200,"response":%s}`,
		method, path, id, org, body, response)
}

// answer is a line of an answers file: a create of the record, and what came.
func answer(org ledger.ID, status int, r *payment.Record, response string) string {
	return fmt.Sprintf(`{"method":"POST","path":"/api/v1/transactions","organization_id":%q,`+
		`"body":{"params":{"type":%q,"txid":%q,"amount":%q,"currency":%q}},"status":%d,"response":%s}`,
		org, r.Type, r.TxID, r.Amount, r.Asset.Currency, status, response)
}

// moment is an instant as the specification shows it.
func moment(at ledger.Micros) string {
	if at == 0 {
		return "null"
	}
	return at.Time().Format(`"2006-01-02T15:04:05.000000-07:00"`)
}

// showShort is a hosted transaction as its create shows it (specification,
// "create", rule 8).
func (w *town) showShort(r *payment.Record) string {
	return fmt.Sprintf(`{"id":%q,"status":%q,"type":%q,"env":%q,"txid":%q,"amount":%q,"currency":%q,"started":%s,"widget_url":"https://mizan.example/page"}`,
		r.ID, r.Status, r.Type, r.Asset.Env, r.TxID, r.Amount, r.Asset.Currency, moment(w.started[r.ID]))
}

// show is a transaction as the specification shows it.
func (w *town) show(r *payment.Record) string {
	txid, description := "null", "null"
	if r.TxID != "" {
		txid = strconv.Quote(r.TxID)
	}
	switch {
	case r.Terminal == ledger.ID{}:
	case r.ShownText != "":
		description = strconv.Quote(r.ShownText)
	case r.Described:
		description = strconv.Quote(r.Description)
	}
	meta := "{}"
	if r.MerchantMeta != nil {
		meta = string(r.MerchantMeta)
	}
	if r.RailMeta != nil {
		meta = string(r.RailMeta) // nobody sent any of its own
	}
	scale, _ := r.Asset.Scale()
	dest := r.Asset.Currency
	if !r.Rate.IsZero() {
		dest = r.Settles.Currency
	}
	return fmt.Sprintf(`{"id":%q,"txid":%s,"type":%q,"status":%q,"error_description":%q,"error_code":%s,"amount":%q,"amount_with_fee":%q,`+
		`"amount_dest":%q,"merchant_amount":%q,"currency":%q,"currency_dest":%q,"env":%q,"scale":%d,"description":%s,`+
		`"merchant_meta":%s,"started":%s,"finished":%s,"payment_method":%s,"customer":%s,"widget_url":null,"route":%q%s}`,
		r.ID, txid, r.Type, r.Status, r.Failure.Describe("en"), live.AppendCode(nil, r.Failure), r.Amount, r.WithFee,
		r.Dest, r.Merchant, r.Asset.Currency, dest, r.Asset.Env, scale, description,
		meta, moment(w.started[r.ID]), moment(r.Finished), showMethod(r), showCustomer(r), r.Route, showOptional(r))
}

// showMethod is payment_method.
func showMethod(r *payment.Record) string {
	switch {
	case r.Method == "":
		return "null"
	case r.CardBIN == "":
		return fmt.Sprintf(`{"type":%q}`, r.Method)
	}
	return fmt.Sprintf(`{"type":%q,"brand":%q,"bin":%q,"last4":%q}`, r.Method, r.CardBrand(), r.CardBIN, r.CardLast4)
}

func showCustomer(r *payment.Record) string {
	if r.Customer == nil {
		return "null"
	}
	return string(r.Customer)
}

// showRefunds are the elements of refunds.
func showRefunds(r *payment.Record) string {
	var all []string
	for i := range r.Refunds {
		f := &r.Refunds[i]
		all = append(all, fmt.Sprintf(`{"refund_id":%q,"amount":%q,"fee_amount":%q,"status":%q,"error_code":%s,"msg":%q,"created":%s,"finished":%s}`,
			f.ID, f.Amount, f.FeeBack, f.Status, live.AppendCode(nil, f.Failure), f.Describe("en"), moment(f.Created), moment(f.Finished)))
	}
	return strings.Join(all, ",")
}

// showOptional are the fields that only some transactions have.
func showOptional(r *payment.Record) (fields string) {
	if r.Asset.Network != "" {
		fields += fmt.Sprintf(`,"network":%q`, r.Asset.Network)
	}
	if r.LinkID != (ledger.ID{}) {
		fields += fmt.Sprintf(`,"link_id":%q`, r.LinkID)
	}
	if !r.Rate.IsZero() {
		fields += fmt.Sprintf(`,"currency_rate":%q,"scale_dest":2`, r.Rate)
	}
	if r.RRN != "" {
		fields += fmt.Sprintf(`,"rrn":%q`, r.RRN)
	}
	if !r.Captured.IsZero() {
		fields += fmt.Sprintf(`,"captured_amount":%q`, r.Captured)
	}
	if last := r.LastRefund(); last != nil {
		fields += fmt.Sprintf(`,"refund_id":%q,"refund_msg":%q,"refunded_amount":%q,"refunds":[%s]`,
			last.ID, last.Describe("en"), r.Refunded, showRefunds(r))
	}
	if r.ReturnID != (ledger.ID{}) {
		fields += fmt.Sprintf(`,"return_id":%q`, r.ReturnID)
	}
	return fields
}

// file writes lines into a file outside of the data directory.
func file(t testing.TB, lines ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lines")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// check opens the store and checks it.
func (w *town) check(t testing.TB, in snapshots.Inputs) (report *snapshots.Report) {
	t.Helper()
	w.checks(t, func(check func(snapshots.Inputs) *snapshots.Report) { report = check(in) })
	return report
}

// checks opens the store for any number of checks.
func (w *town) checks(t testing.TB, fn func(check func(snapshots.Inputs) *snapshots.Report)) {
	t.Helper()
	j := openJournal(t, w, clock.NewManual(start), nil)
	defer func() {
		if err := j.Close(); err != nil {
			t.Error(err)
		}
	}()
	fn(func(in snapshots.Inputs) *snapshots.Report {
		in.Keyring = keyring(t, w.dir)
		t.Helper()
		in.Data, in.Log = w.dir, quiet
		report, err := snapshots.Check(t.Context(), j, in)
		if err != nil {
			t.Fatal(err)
		}
		return report
	})
}

// wantBroken checks that exactly these rules are broken.
func wantBroken(t testing.TB, report *snapshots.Report, rules ...int) {
	t.Helper()
	var text strings.Builder
	if _, err := report.WriteTo(&text); err != nil {
		t.Fatal(err)
	}
	want := make(map[int]bool)
	for _, rule := range rules {
		want[rule] = true
	}
	for _, rule := range report.Rules {
		if broken := rule.Outcome == snapshots.Broken; broken != want[rule.Number] {
			t.Errorf("rule %d is %v", rule.Number, rule.Outcome)
		}
	}
	if t.Failed() {
		t.Logf("want broken: %v; the report:\n%s", rules, text.String())
	}
}
