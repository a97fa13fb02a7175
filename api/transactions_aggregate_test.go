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

// newSale returns the record of a payment in env prod. The merchant's amount may be negative.
func newSale(currency, network, amount, fee, merchantAmount, refunded string, status payment.Status) *payment.Record {
	r := newPayment(amount, status)
	r.Asset = money.Asset{Currency: money.Currency(currency), Network: money.Network(network), Env: money.Prod}
	r.AmountWithFee, r.Fee, r.RefundedAmount = r.Amount, money.MustParse(fee), money.MustParse(refunded)
	var err error
	if r.MerchantAmount, err = money.ParseSigned(merchantAmount); err != nil {
		panic(err)
	}
	return r
}

// aggregateRow returns a row of an aggregate as JSON. groups has the members by which the rows are grouped, as JSON text; the row
// has them between env and count.
func aggregateRow(currency, network, groups string, count int, amount, merchant, fee, refunded string) string {
	return fmt.Sprintf(`{"currency":"%s","network":"%s","env":"prod",%s"count":%d,"amount":"%s","amount_with_fee":"%s","merchant_amount":"%s","fee_amount":"%s","refunded_amount":"%s"}`,
		currency, network, groups, count, amount, amount, merchant, fee, refunded)
}

// data returns the rows of an aggregate's response as the JSON that was sent.
func (r *response) data() string {
	r.t.Helper()
	r.want(200, "")
	rows, _, found := strings.Cut(strings.TrimPrefix(r.body, `{"data":[`), `],"meta":{"as_of":"`)
	if !found {
		r.t.Fatalf("%s", r.body)
	}
	return rows
}

func TestAggregateOfNothingIsEmpty(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	if got := f.partner().get(aggregate).data(); got != "" {
		t.Errorf("%s", got)
	}
}

// storeSales stores payments of two days that the tests' queries select, and some that they do not select.
func storeSales(f *fixture) {
	f.setTimeOfDay("10:30:00")
	f.storeRecords(
		newSale("USD", "", "1000", "30", "970", "0", payment.Charged),
		newSale("USD", "", "2000", "60", "1940", "500", payment.Refunded),
		newSale("USD", "", "10", "25", "-15", "0", payment.Charged),
		newSale("USDT", "tron", "7", "0", "7", "0", payment.Charged),
		newSale("USDT", "bsc", "900", "0", "900", "0", payment.Charged),
	)
	must(f.t, f.Clock.Set(began.AddDate(0, 0, 1)))
	payout := newSale("USD", "", "300", "5", "300", "0", payment.Charged)
	payout.Type = payment.Payout
	testSale, foreignSale := newSale("USD", "", "40000", "0", "40000", "0", payment.Charged), newSale("USD", "", "40000", "0", "40000", "0", payment.Charged)
	testSale.Asset.Env, foreignSale.Partner = money.Test, 77
	f.storeRecords(payout, newSale("USD", "", "4000", "0", "4000", "0", payment.Rejected), testSale, foreignSale)
}

func TestAggregateSumsByAssetTypeAndStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	storeSales(f)
	const payments, payouts = `"type":"payment",`, `"type":"payout",`
	const charged, refunded, rejected = `"status":"charged",`, `"status":"refunded",`, `"status":"rejected",`
	const firstDay, secondDay = `"day":"2026-09-03",`, `"day":"2026-09-04",`
	bsc := func(groups string) string { return aggregateRow("USDT", "bsc", groups, 1, "900", "900", "0", "0") }
	tron := func(groups string) string { return aggregateRow("USDT", "tron", groups, 1, "7", "7", "0", "0") }
	for query, rows := range map[string][]string{
		"": {
			aggregateRow("USD", "", payments+charged, 2, "1010", "955", "55", "0"), aggregateRow("USD", "", payments+refunded, 1, "2000", "1940", "60", "500"),
			aggregateRow("USD", "", payments+rejected, 1, "4000", "4000", "0", "0"), aggregateRow("USD", "", payouts+charged, 1, "300", "300", "5", "0"),
			bsc(payments + charged), tron(payments + charged),
		},
		"group_by=type":   {aggregateRow("USD", "", payments, 4, "7010", "6895", "115", "500"), aggregateRow("USD", "", payouts, 1, "300", "300", "5", "0"), bsc(payments), tron(payments)},
		"group_by=status": {aggregateRow("USD", "", charged, 3, "1310", "1255", "60", "0"), aggregateRow("USD", "", refunded, 1, "2000", "1940", "60", "500"), aggregateRow("USD", "", rejected, 1, "4000", "4000", "0", "0"), bsc(charged), tron(charged)},
		"group_by=day":    {aggregateRow("USD", "", firstDay, 3, "3010", "2895", "115", "500"), aggregateRow("USD", "", secondDay, 2, "4300", "4300", "5", "0"), bsc(firstDay), tron(firstDay)},
		"group_by=status,day&currency=USD&type=payout":    {aggregateRow("USD", "", secondDay+charged, 1, "300", "300", "5", "0")},
		"currency=USDT&group_by=day,type,status":          {bsc(firstDay + payments + charged), tron(firstDay + payments + charged)},
		"currency=USD&status=charged&group_by=type":       {aggregateRow("USD", "", payments, 2, "1010", "955", "55", "0"), aggregateRow("USD", "", payouts, 1, "300", "300", "5", "0")},
		"amount_to=10&currency=USD":                       {aggregateRow("USD", "", payments+charged, 1, "10", "-15", "25", "0")},
		"started_from=2026-09-04T00:00:00Z&group_by=type": {aggregateRow("USD", "", payments, 1, "4000", "4000", "0", "0"), aggregateRow("USD", "", payouts, 1, "300", "300", "5", "0")},
		"started_to=2026-09-03T23:59:59Z&group_by=type":   {aggregateRow("USD", "", payments, 3, "3010", "2895", "115", "500"), bsc(payments), tron(payments)},
		"finished_from=2026-09-04T00:00:00Z":              {aggregateRow("USD", "", payments+rejected, 1, "4000", "4000", "0", "0"), aggregateRow("USD", "", payouts+charged, 1, "300", "300", "5", "0")},
		"updated_to=2026-09-03T23:59:59Z&type=payout":     {},
		"currency=EUR":          {},
		"status=no_such_status": {},
		"env=test":              {strings.Replace(aggregateRow("USD", "", payments+charged, 1, "40000", "40000", "0", "0"), "prod", "test", 1)},
	} {
		if got, want := f.partner().get(aggregate+"?"+query).data(), strings.Join(rows, ","); got != want {
			t.Errorf("%q:\n got %s\nwant %s", query, got, want)
		}
	}
}

// A query that selects many records reads all records in key order. A query that selects few of them reads
// the index by start or by last change, which has outdated rows. Both ways give the right sums.
func TestAggregateIsEqualByEachReadPath(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var records []*payment.Record
	for i := range 300 {
		r := newSale("USD", "", "1", "0", "1", "0", payment.Charging)
		if i >= 294 {
			r.Partner = 77
		}
		records = append(records, r)
	}
	f.setTimeOfDay("11:00:00")
	f.storeVersion(0, 5, records...)
	f.setTimeOfDay("12:00:00")
	refunding := newSale("USD", "", "50", "0", "50", "0", payment.Refunding)
	refunding.ID = records[0].ID
	f.storeVersion(5, 1, refunding)
	f.setTimeOfDay("13:00:00")
	refunding.Status = payment.Refunded
	f.storeVersion(6, 1, refunding)
	lateSale := newSale("USD", "", "600", "0", "600", "0", payment.Charged)
	f.storeRecords(lateSale)
	f.setTimeOfDay("13:30:00")
	f.storeVersion(1, 1, lateSale)
	charged, refunded := aggregateRow("USD", "", `"status":"charged",`, 1, "600", "600", "0", "0"), aggregateRow("USD", "", `"status":"refunded",`, 1, "50", "50", "0", "0")
	charging := aggregateRow("USD", "", `"status":"charging",`, 293, "293", "293", "0", "0")
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
		if got, want := f.partner().get(aggregate+"?group_by=status"+query).data(), strings.Join(rows, ","); got != want {
			t.Errorf("%q:\n got %s\nwant %s", query, got, want)
		}
	}
	// Only one of all the records belongs to this second partner.
	neighbour := f.otherPartner()
	ownSale := newSale("USD", "", "4", "0", "4", "0", payment.Charged)
	_, err := fmt.Sscan(f.admin().get("/api/v1/partners").at("data.0.id"), &ownSale.Partner)
	must(t, err)
	f.storeRecords(ownSale)
	if got := neighbour.get(aggregate).data(); got != aggregateRow("USD", "", `"type":"payment","status":"charged",`, 1, "4", "4", "0", "0") {
		t.Errorf("a small partner: %s", got)
	}
}

func TestAggregateRowsAreInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for day := 1; day <= 9; day++ {
		must(t, f.Clock.Set(began.AddDate(0, 0, day)))
		payout := newPayment("1", payment.Charged)
		payout.Type, payout.Asset.Currency = payment.Payout, "EUR"
		f.storeRecords(newPayment("1", payment.Rejected), payout, newPayment("1", payment.Charged))
	}
	r := f.partner().get(aggregate+"?group_by=status,day,type").want(200, "")
	for i := range 9 {
		day, eur, charged, rejected := fmt.Sprintf("2026-09-%02d", i+4), fmt.Sprintf("data.%d.", i), fmt.Sprintf("data.%d.", 9+2*i), fmt.Sprintf("data.%d.", 10+2*i)
		if r.at(eur+"day") != day || r.at(charged+"day") != day || r.at(rejected+"day") != day || r.at(charged+"status") != "charged" || r.at(rejected+"status") != "rejected" {
			t.Fatalf("%s", r.body)
		}
	}
}

func TestAggregateRefusesOtherParametersAndBadValues(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, name := range []string{"limit", "cursor", "order_by", "start_cursor", "end_cursor", "partner_id", "from", "page", "network"} {
		f.partner().get(aggregate+"?"+name+"=1").want(422, `{"errors":[{"code":"invalid","detail":"Unexpected field","field":"`+name+`"}]}`)
	}
	for _, code := range []string{"JPY", "usd", "643"} {
		f.partner().get(aggregate+"?currency="+code).want(422, `{"errors":[{"code":"invalid","detail":"unsupported currency `+code+`","field":"currency"}]}`)
	}
	for _, bad := range []string{
		"group_by=", "group_by=amount", "group_by=type,,day", "group_by=type,type", "group_by=Type", "group_by=type&group_by=day",
		"currency=", "currency=USD&currency=USD", "type=x", "env=x", "amount_from=x", "started_from=x", "link_id=x", "status=",
	} {
		name, _, _ := strings.Cut(bad, "=")
		if r := f.partner().get(aggregate+"?"+bad).want(422, ""); r.at("errors.0.field") != name {
			t.Errorf("%s: %s", bad, r.body)
		}
	}
	f.partner().get(aggregate+"?txid=ignored").want(200, "")
}

// The response's as_of is the time of the last event that it includes. The request comes within an hour of the last recorded use
// of the API key, so it does not add an event for the use of the key.
func TestAggregateHasTheTimeOfItsLastEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.setTimeOfDay("10:30:00")
	f.storeVersion(0, 3, newPayment("1", payment.Charged))
	f.setTimeOfDay("11:00:00")
	if at := f.partner().get(aggregate).at("meta.as_of"); at != "2026-09-03T10:30:00.000002+00:00" {
		t.Errorf("as of %s", at)
	}
}

func TestAggregateSumOutOfRangeIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	largest := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1)).String()
	f.storeRecords(newPayment(largest, payment.Charged))
	if got := f.partner().get(aggregate).at("data.0.amount"); got != largest {
		t.Errorf("%s", got)
	}
	f.storeRecords(newPayment("1", payment.Charged))
	r := f.partner().get(aggregate).want(422, "")
	if r.at("errors.0.field") != "amount" {
		t.Errorf("%s", r.body)
	}
	f.partner().get(aggregate+"?amount_to=1").want(200, "")
}

// Networks are arbitrary names, so without this bound a response could have any number of rows.
func TestAggregateHasABoundedNumberOfRows(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const bound = 10_000
	var records []*payment.Record
	for i := range bound {
		r := newPayment("1", payment.Charged)
		r.Asset.Network = money.Network(fmt.Sprintf("n%d", i))
		records = append(records, r)
	}
	for part := range slices.Chunk(records, 1_000) {
		f.storeRecords(part...)
	}
	if a := f.partner().get(aggregate).want(200, ""); a.rows() != bound {
		t.Errorf("%d rows", a.rows())
	}
	f.storeRecords(newPayment("1", payment.Rejected))
	if a := f.partner().get(aggregate).want(422, ""); a.at("errors.0.field") != "group_by" {
		t.Errorf("%s", a.body)
	}
}

// blockedViews is a journal whose method View waits until the test releases it. blockedViews is also a directory that reports
// each caller that the server authenticates.
type blockedViews struct {
	web.Journal
	api.Directory

	requested chan struct{} // gets a value when a caller is authenticated
	arrived   chan struct{} // gets a value when a call of View begins to wait
	release   chan struct{} // sending to it lets one call of View continue
}

// View implements web.Journal.
func (l *blockedViews) View() *posting.View {
	l.arrived <- struct{}{}
	<-l.release
	return l.Journal.View()
}

// Authenticate implements api.Directory.
func (l *blockedViews) Authenticate(org ledger.ID, key []byte) (*directory.APIKey, *directory.Partner, bool) {
	l.requested <- struct{}{}
	return l.Directory.Authenticate(org, key)
}

// newBlockedViewsFixture starts a server with a blockedViews. A request for an aggregate waits at most maxWait in the queue.
func newBlockedViewsFixture(t *testing.T, maxWait time.Duration) (*fixture, *blockedViews) {
	t.Helper()
	views := &blockedViews{requested: make(chan struct{}, 64), arrived: make(chan struct{}), release: make(chan struct{})}
	return newFixture(t, func(c *api.Config) {
		views.Journal, views.Directory = c.Journal, c.Directory
		c.Journal, c.Directory, c.AggregateWait = views, views, maxWait
	}), views
}

func TestAggregateThatWaitsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	f, views := newBlockedViewsFixture(t, time.Millisecond)
	responses := make(chan *response, 2)
	for range 2 {
		go func() { responses <- f.partner().get(aggregate) }()
		<-views.arrived // the test sends the second request when the first one is already reading, so neither waits in the queue
	}
	refused := f.partner().get(aggregate).want(503, `{"error":"unavailable","message":"too many aggregates are under way"}`)
	if refused.header.Get("retry-after") == "" {
		t.Errorf("headers %v", refused.header)
	}
	for range 2 {
		views.release <- struct{}{}
		(<-responses).want(200, "")
	}
}

// However many aggregates one partner requests, an aggregate of another organization is served after a short wait.
func TestAggregatesOfOrganizationsTakeTurns(t *testing.T) {
	t.Parallel()
	f, views := newBlockedViewsFixture(t, patience)
	const requestCount = 40
	responses, otherResponse := make(chan *response, requestCount), make(chan *response, 1)
	for range requestCount {
		go func() { responses <- f.partner().get(aggregate) }()
		<-views.requested
	}
	const admittedCount = 8
	for range requestCount - admittedCount {
		(<-responses).want(503, `{"error":"unavailable","message":"too many aggregates are under way"}`)
	}
	go func() { otherResponse <- f.second().get(aggregate) }()
	<-views.requested
	for range admittedCount + 1 {
		<-views.arrived
		views.release <- struct{}{}
	}
	(<-otherResponse).want(200, "")
	for range admittedCount {
		(<-responses).want(200, "")
	}
}

func TestTwoAggregatesRunAtOnceAndOthersWait(t *testing.T) {
	t.Parallel()
	f, views := newBlockedViewsFixture(t, patience)
	responses := make(chan *response, 3)
	ask := func() { responses <- f.partner().get(aggregate) }
	go ask()
	go ask()
	<-views.arrived
	<-views.arrived
	go ask()
	views.release <- struct{}{}
	(<-responses).want(200, "")
	<-views.arrived // the third aggregate is read after the first one has ended
	views.release <- struct{}{}
	views.release <- struct{}{}
	(<-responses).want(200, "")
	(<-responses).want(200, "")
}

func TestAggregatesEndWhenTheServerStops(t *testing.T) {
	t.Parallel()
	f, views := newBlockedViewsFixture(t, patience)
	f.storeRecords(newPayment("1", payment.Charged))
	responses := make(chan *response, 3)
	ask := func() {
		go func() { responses <- f.partner().get(aggregate) }()
		<-views.requested
	}
	ask()
	ask()
	<-views.arrived
	<-views.arrived
	ask()
	stopped := make(chan error, 1)
	go func() { stopped <- f.server.Shutdown(context.Background()) }()
	const stopping = `{"error":"unavailable","message":"the service is stopping"}`
	(<-responses).want(503, stopping) // the aggregate that was still waiting in the queue
	for range 2 {
		views.release <- struct{}{}
		(<-responses).want(503, stopping)
	}
	must(t, <-stopped)
}

// The caller has disconnected, so only the metrics show how the aggregate ended. The server may notice the disconnection only
// after the aggregate has ended, so the test tries it with several callers.
func TestAggregateEndsWhenItsCallerDisconnects(t *testing.T) {
	t.Parallel()
	f, views := newBlockedViewsFixture(t, patience)
	f.storeRecords(newPayment("1", payment.Charged))
	outcome := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		conn, err := net.Dial("tcp", f.address)
		must(t, err)
		_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: a\r\nX-Api-Key: %s\r\nX-Organization-Id: %s\r\n\r\n", aggregate, string(f.seed.First.APIKey), f.seed.First.Org)
		must(t, err)
		<-views.arrived
		must(t, conn.Close())
		views.release <- struct{}{}
		if outcome = <-f.observed; outcome == aggregate+" GET 503" {
			return
		}
	}
	t.Errorf("it ended as %s", outcome)
}
