package api_test

import (
	"context"
	"fmt"
	"math/big"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/api"
	"mizan/api/web"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	"mizan/posting"
)

const aggregate = transactions + "/aggregate"

// sold returns a payment with its fee and status. The merchant's amount may be negative.
func sold(currency, network, amount, fee, merchant, refunded string, status payment.Status) *payment.Record {
	r := deal(amount, status)
	r.Asset = money.Asset{Currency: money.Currency(currency), Network: money.Network(network), Env: money.Prod}
	r.WithFee, r.Fee, r.Refunded = r.Amount, money.MustParse(fee), money.MustParse(refunded)
	var err error
	if r.Merchant, err = money.ParseSigned(merchant); err != nil {
		panic(err)
	}
	return r
}

// sum returns a row of an aggregate: the members by which it is grouped, as JSON between env
// and count, then the sums.
func sum(currency, network, groups string, count int, amount, merchant, fee, refunded string) string {
	return fmt.Sprintf(`{"currency":"%s","network":"%s","env":"prod",%s"count":%d,"amount":"%s","amount_with_fee":"%s","merchant_amount":"%s","fee_amount":"%s","refunded_amount":"%s"}`,
		currency, network, groups, count, amount, amount, merchant, fee, refunded)
}

// data returns the rows of an answer as they were written.
func (a *answer) data() string {
	a.t.Helper()
	a.want(200, "")
	rows, _, found := strings.Cut(strings.TrimPrefix(a.body, `{"data":[`), `],"meta":{"as_of":"`)
	if !found {
		a.t.Fatalf("%s", a.body)
	}
	return rows
}

func TestAggregateOfNothingIsEmpty(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	if got := h.partner().get(aggregate).data(); got != "" {
		t.Errorf("%s", got)
	}
}

// trade stores two days of sales, and some that the queries do not select.
func trade(h *fixture) {
	h.at("10:30:00")
	h.storeRecords(
		sold("USD", "", "1000", "30", "970", "0", payment.Charged),
		sold("USD", "", "2000", "60", "1940", "500", payment.Refunded),
		sold("USD", "", "10", "25", "-15", "0", payment.Charged),
		sold("USDT", "tron", "7", "0", "7", "0", payment.Charged),
		sold("USDT", "bsc", "900", "0", "900", "0", payment.Charged),
	)
	must(h.t, h.Clock.Set(began.AddDate(0, 0, 1)))
	payout := sold("USD", "", "300", "5", "300", "0", payment.Charged)
	payout.Type = payment.Payout
	tested, foreign := sold("USD", "", "40000", "0", "40000", "0", payment.Charged), sold("USD", "", "40000", "0", "40000", "0", payment.Charged)
	tested.Asset.Env, foreign.Partner = money.Test, 77
	h.storeRecords(payout, sold("USD", "", "4000", "0", "4000", "0", payment.Rejected), tested, foreign)
}

func TestAggregateSumsByAssetTypeAndStatus(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	trade(h)
	const payments, payouts = `"type":"payment",`, `"type":"payout",`
	const charged, refunded, rejected = `"status":"charged",`, `"status":"refunded",`, `"status":"rejected",`
	const first, second = `"day":"2026-09-03",`, `"day":"2026-09-04",`
	bsc := func(groups string) string { return sum("USDT", "bsc", groups, 1, "900", "900", "0", "0") }
	tron := func(groups string) string { return sum("USDT", "tron", groups, 1, "7", "7", "0", "0") }
	for query, rows := range map[string][]string{
		"": {
			sum("USD", "", payments+charged, 2, "1010", "955", "55", "0"), sum("USD", "", payments+refunded, 1, "2000", "1940", "60", "500"),
			sum("USD", "", payments+rejected, 1, "4000", "4000", "0", "0"), sum("USD", "", payouts+charged, 1, "300", "300", "5", "0"),
			bsc(payments + charged), tron(payments + charged),
		},
		"group_by=type":   {sum("USD", "", payments, 4, "7010", "6895", "115", "500"), sum("USD", "", payouts, 1, "300", "300", "5", "0"), bsc(payments), tron(payments)},
		"group_by=status": {sum("USD", "", charged, 3, "1310", "1255", "60", "0"), sum("USD", "", refunded, 1, "2000", "1940", "60", "500"), sum("USD", "", rejected, 1, "4000", "4000", "0", "0"), bsc(charged), tron(charged)},
		"group_by=day":    {sum("USD", "", first, 3, "3010", "2895", "115", "500"), sum("USD", "", second, 2, "4300", "4300", "5", "0"), bsc(first), tron(first)},
		"group_by=status,day&currency=USD&type=payout":    {sum("USD", "", second+charged, 1, "300", "300", "5", "0")},
		"currency=USDT&group_by=day,type,status":          {bsc(first + payments + charged), tron(first + payments + charged)},
		"currency=USD&status=charged&group_by=type":       {sum("USD", "", payments, 2, "1010", "955", "55", "0"), sum("USD", "", payouts, 1, "300", "300", "5", "0")},
		"amount_to=10&currency=USD":                       {sum("USD", "", payments+charged, 1, "10", "-15", "25", "0")},
		"started_from=2026-09-04T00:00:00Z&group_by=type": {sum("USD", "", payments, 1, "4000", "4000", "0", "0"), sum("USD", "", payouts, 1, "300", "300", "5", "0")},
		"started_to=2026-09-03T23:59:59Z&group_by=type":   {sum("USD", "", payments, 3, "3010", "2895", "115", "500"), bsc(payments), tron(payments)},
		"finished_from=2026-09-04T00:00:00Z":              {sum("USD", "", payments+rejected, 1, "4000", "4000", "0", "0"), sum("USD", "", payouts+charged, 1, "300", "300", "5", "0")},
		"updated_to=2026-09-03T23:59:59Z&type=payout":     {},
		"currency=EUR":          {},
		"status=no_such_status": {},
		"env=test":              {strings.Replace(sum("USD", "", payments+charged, 1, "40000", "40000", "0", "0"), "prod", "test", 1)},
	} {
		if got, want := h.partner().get(aggregate+"?"+query).data(), strings.Join(rows, ","); got != want {
			t.Errorf("%q:\n got %s\nwant %s", query, got, want)
		}
	}
}

// A large part of the records is read in key order, a small part through the index of starts or
// of updates, which has stale rows: both ways give the right sums.
func TestAggregateIsEqualByEachReadPath(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	var made []*payment.Record
	for i := range 300 {
		r := sold("USD", "", "1", "0", "1", "0", payment.Charging)
		if i >= 294 {
			r.Partner = 77
		}
		made = append(made, r)
	}
	h.at("11:00:00")
	h.storeVersion(0, 5, made...)
	h.at("12:00:00")
	moved := sold("USD", "", "50", "0", "50", "0", payment.Refunding)
	moved.ID = made[0].ID
	h.storeVersion(5, 1, moved)
	h.at("13:00:00")
	moved.Status = payment.Refunded
	h.storeVersion(6, 1, moved)
	young := sold("USD", "", "600", "0", "600", "0", payment.Charged)
	h.storeRecords(young)
	h.at("13:30:00")
	h.storeVersion(1, 1, young)
	charged, refunded := sum("USD", "", `"status":"charged",`, 1, "600", "600", "0", "0"), sum("USD", "", `"status":"refunded",`, 1, "50", "50", "0", "0")
	charging := sum("USD", "", `"status":"charging",`, 293, "293", "293", "0", "0")
	for query, rows := range map[string][]string{
		"":                                   {charged, charging, refunded},
		"&started_from=2026-09-03T11:00:00Z": {charged, charging, refunded},
		"&updated_from=2026-09-03T11:00:00Z": {charged, charging, refunded},
		"&started_to=2026-09-03T12:00:00Z":   {charging, refunded},
		"&updated_to=2026-09-03T12:30:00Z":   {charging},
		"&started_from=2026-09-03T12:30:00Z": {charged},
		"&updated_from=2026-09-03T11:30:00Z": {charged, refunded},
		"&updated_from=2026-09-03T11:30:00Z&updated_to=2026-09-03T12:30:00Z": nil,
		"&finished_from=2026-09-03T11:30:00Z":                                {charged},
	} {
		if got, want := h.partner().get(aggregate+"?group_by=status"+query).data(), strings.Join(rows, ","); got != want {
			t.Errorf("%q:\n got %s\nwant %s", query, got, want)
		}
	}
	// A partner with only a few of all records.
	neighbour := h.neighbour()
	own := sold("USD", "", "4", "0", "4", "0", payment.Charged)
	_, err := fmt.Sscan(h.admin().get("/api/v1/partners").at("data.0.id"), &own.Partner)
	must(t, err)
	h.storeRecords(own)
	if got := neighbour.get(aggregate).data(); got != sum("USD", "", `"type":"payment","status":"charged",`, 1, "4", "4", "0", "0") {
		t.Errorf("a small partner: %s", got)
	}
}

func TestAggregateRowsAreInOrder(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for day := 1; day <= 9; day++ {
		must(t, h.Clock.Set(began.AddDate(0, 0, day)))
		out := deal("1", payment.Charged)
		out.Type, out.Asset.Currency = payment.Payout, "EUR"
		h.storeRecords(deal("1", payment.Rejected), out, deal("1", payment.Charged))
	}
	a := h.partner().get(aggregate+"?group_by=status,day,type").want(200, "")
	for i := range 9 {
		day, eur, charged, rejected := fmt.Sprintf("2026-09-%02d", i+4), fmt.Sprintf("data.%d.", i), fmt.Sprintf("data.%d.", 9+2*i), fmt.Sprintf("data.%d.", 10+2*i)
		if a.at(eur+"day") != day || a.at(charged+"day") != day || a.at(rejected+"day") != day || a.at(charged+"status") != "charged" || a.at(rejected+"status") != "rejected" {
			t.Fatalf("%s", a.body)
		}
	}
}

func TestAggregateRefusesOtherParametersAndBadValues(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for _, name := range []string{"limit", "cursor", "order_by", "start_cursor", "end_cursor", "partner_id", "from", "page", "network"} {
		h.partner().get(aggregate+"?"+name+"=1").want(422, `{"errors":[{"code":"invalid","detail":"Unexpected field","field":"`+name+`"}]}`)
	}
	for _, code := range []string{"JPY", "usd", "643"} {
		h.partner().get(aggregate+"?currency="+code).want(422, `{"errors":[{"code":"invalid","detail":"unsupported currency `+code+`","field":"currency"}]}`)
	}
	for _, bad := range []string{
		"group_by=", "group_by=amount", "group_by=type,,day", "group_by=type,type", "group_by=Type", "group_by=type&group_by=day",
		"currency=", "currency=USD&currency=USD", "type=x", "env=x", "amount_from=x", "started_from=x", "link_id=x", "status=",
	} {
		name, _, _ := strings.Cut(bad, "=")
		if a := h.partner().get(aggregate+"?"+bad).want(422, ""); a.at("errors.0.field") != name {
			t.Errorf("%s: %s", bad, a.body)
		}
	}
	h.partner().get(aggregate+"?txid=ignored").want(200, "")
}

// The answer's as_of is the time of the last event that it includes.
func TestAggregateHasTheTimeOfItsLastEvent(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.at("12:00:00")
	h.storeVersion(0, 3, deal("1", payment.Charged))
	h.at("13:00:00")
	if at := h.partner().get(aggregate).at("meta.as_of"); at != "2026-09-03T12:00:00.000002+00:00" {
		t.Errorf("as of %s", at)
	}
}

func TestAggregateSumOutOfRangeIsRefused(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	largest := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1)).String()
	h.storeRecords(deal(largest, payment.Charged))
	if got := h.partner().get(aggregate).at("data.0.amount"); got != largest {
		t.Errorf("%s", got)
	}
	h.storeRecords(deal("1", payment.Charged))
	a := h.partner().get(aggregate).want(422, "")
	if a.at("errors.0.field") != "amount" {
		t.Errorf("%s", a.body)
	}
	h.partner().get(aggregate+"?amount_to=1").want(200, "")
}

// Networks are arbitrary names, so the number of groups has no other bound.
func TestAggregateHasABoundedNumberOfRows(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	const bound = 10_000
	var many []*payment.Record
	for i := range bound {
		r := deal("1", payment.Charged)
		r.Asset.Network = money.Network(fmt.Sprintf("n%d", i))
		many = append(many, r)
	}
	for part := range slices.Chunk(many, 1_000) {
		h.storeRecords(part...)
	}
	if a := h.partner().get(aggregate).want(200, ""); a.rows() != bound {
		t.Errorf("%d rows", a.rows())
	}
	h.storeRecords(deal("1", payment.Rejected))
	if a := h.partner().get(aggregate).want(422, ""); a.at("errors.0.field") != "group_by" {
		t.Errorf("%s", a.body)
	}
}

// lateView is a journal whose views wait until they are released, on a server that announces
// every caller.
type lateView struct {
	web.Journal
	api.Directory
	asked, arrived, release chan struct{}
}

// View implements api.Journal.
func (l *lateView) View() *posting.View {
	l.arrived <- struct{}{}
	<-l.release
	return l.Journal.View()
}

// Authenticate implements api.Directory.
func (l *lateView) Authenticate(org ledger.ID, key []byte) (*directory.APIKey, *directory.Partner, bool) {
	l.asked <- struct{}{}
	return l.Directory.Authenticate(org, key)
}

// openLate starts a server whose reads wait, with a maximum wait of an aggregate for its turn.
func openLate(t *testing.T, turn time.Duration) (*fixture, *lateView) {
	t.Helper()
	l := &lateView{asked: make(chan struct{}, 64), arrived: make(chan struct{}), release: make(chan struct{})}
	return newFixture(t, func(c *api.Config) {
		l.Journal, l.Directory = c.Journal, c.Directory
		c.Journal, c.Directory, c.AggregateWait = l, l, turn
	}), l
}

func TestAggregateThatWaitsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	h, l := openLate(t, time.Millisecond)
	answers := make(chan *answer, 2)
	for range 2 {
		go func() { answers <- h.partner().get(aggregate) }()
		<-l.arrived // one after the other, so neither waits
	}
	refused := h.partner().get(aggregate).want(503, `{"error":"unavailable","message":"too many aggregates are under way"}`)
	if refused.header.Get("retry-after") == "" {
		t.Errorf("headers %v", refused.header)
	}
	for range 2 {
		l.release <- struct{}{}
		(<-answers).want(200, "")
	}
}

// However many aggregates one partner requests, another organization's gets its turn.
func TestAggregatesOfOrganizationsTakeTurns(t *testing.T) {
	t.Parallel()
	h, l := openLate(t, patience)
	const many = 40
	answers, other := make(chan *answer, many), make(chan *answer, 1)
	for range many {
		go func() { answers <- h.partner().get(aggregate) }()
		<-l.asked
	}
	const allowed = 8
	for range many - allowed {
		(<-answers).want(503, `{"error":"unavailable","message":"too many aggregates are under way"}`)
	}
	go func() { other <- h.second().get(aggregate) }()
	<-l.asked
	for range allowed + 1 {
		<-l.arrived
		l.release <- struct{}{}
	}
	(<-other).want(200, "")
	for range allowed {
		(<-answers).want(200, "")
	}
}

func TestTwoAggregatesRunAtOnceAndOthersWait(t *testing.T) {
	t.Parallel()
	h, l := openLate(t, patience)
	answers := make(chan *answer, 3)
	ask := func() { answers <- h.partner().get(aggregate) }
	go ask()
	go ask()
	<-l.arrived
	<-l.arrived
	go ask()
	l.release <- struct{}{}
	(<-answers).want(200, "")
	<-l.arrived // the third has taken the place of the first
	l.release <- struct{}{}
	l.release <- struct{}{}
	(<-answers).want(200, "")
	(<-answers).want(200, "")
}

func TestAggregatesEndWhenTheServerStops(t *testing.T) {
	t.Parallel()
	h, l := openLate(t, patience)
	h.storeRecords(deal("1", payment.Charged))
	answers := make(chan *answer, 3)
	ask := func() {
		go func() { answers <- h.partner().get(aggregate) }()
		<-l.asked
	}
	ask()
	ask()
	<-l.arrived
	<-l.arrived
	ask()
	stopped := make(chan error, 1)
	go func() { stopped <- h.server.Shutdown(context.Background()) }()
	const stopping = `{"error":"unavailable","message":"the service is stopping"}`
	(<-answers).want(503, stopping) // the one that waited
	for range 2 {
		l.release <- struct{}{}
		(<-answers).want(503, stopping)
	}
	must(t, <-stopped)
}

// The caller has disconnected, so only the metrics show how the aggregate ended. The end of the
// connection may arrive after the work has continued, so the test tries several callers.
func TestAggregateEndsWhenItsCallerDisconnects(t *testing.T) {
	t.Parallel()
	h, l := openLate(t, patience)
	h.storeRecords(deal("1", payment.Charged))
	ended := ""
	for until := time.Now().Add(patience); time.Now().Before(until); {
		line, err := net.Dial("tcp", h.address)
		must(t, err)
		_, err = fmt.Fprintf(line, "GET %s HTTP/1.1\r\nHost: a\r\nX-Api-Key: %s\r\nX-Organization-Id: %s\r\n\r\n", aggregate, string(h.seed.First.APIKey), h.seed.First.Org)
		must(t, err)
		<-l.arrived
		must(t, line.Close())
		l.release <- struct{}{}
		if ended = <-h.observed; ended == aggregate+" GET 503" {
			return
		}
	}
	t.Errorf("it ended as %s", ended)
}
