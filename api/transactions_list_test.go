package api_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/ledger"
	"mizan/ledger/money"
	"mizan/ledger/payment"
	paymentcodec "mizan/ledger/payment/codec"
	"mizan/posting"
)

// newPayment returns the record of a payment of partner 1 in USD, in env prod.
func newPayment(amount string, status payment.Status) *payment.Record {
	r := &payment.Record{ID: uuid.New(), Partner: 1, Status: status}
	r.Type, r.Amount, r.Asset = payment.Payment, money.MustParse(amount), money.Asset{Currency: "USD", Env: money.Prod}
	return r
}

// storeRecords stores transactions in the first organization, in this order, and returns their headers (versions and times).
func (f *fixture) storeRecords(records ...*payment.Record) []posting.RecordHeader {
	f.t.Helper()
	return f.storeVersion(0, 1, records...)
}

// storeVersion stores each record with the given number of events. eventsBefore is how many events each
// record has already.
func (f *fixture) storeVersion(eventsBefore uint64, events int, records ...*payment.Record) []posting.RecordHeader {
	f.t.Helper()
	headers := make([]posting.RecordHeader, len(records))
	var wg sync.WaitGroup
	wg.Add(len(records))
	for i, r := range records {
		list, otherLists := payment.Lists.Of(r)
		f.Journal.Submit(&posting.Change{Author: ledger.BySystem.Author(), MustRecord: true, Steps: []posting.Step{{
			Org: f.seed.First.Org, Source: ledger.Source{Kind: ledger.Transaction, ID: r.ID}, Expect: eventsBefore, Record: paymentcodec.Encode(r),
			List: list, FurtherLists: otherLists, Finish: r.Status.IsFinal(),
			Events: slices.Repeat([]ledger.Event{{Name: "move", To: string(r.Status)}}, events),
		}}}, func(receipt posting.Receipt) {
			if receipt.Err != nil {
				f.t.Error(receipt.Err)
			} else {
				headers[i] = receipt.Headers[0]
			}
			wg.Done()
		})
	}
	wg.Wait()
	return headers
}

// setTimeOfDay sets the clock to a time of the day on which the fixture's clock began. The time must be after all stored times.
func (f *fixture) setTimeOfDay(clock string) {
	f.t.Helper()
	to, err := time.Parse(time.RFC3339, "2026-09-03T"+clock+"Z")
	must(f.t, err)
	must(f.t, f.Clock.Set(to))
}

// recordNames returns the names that a test gave to the records on a page. A record without a name is
// returned as its id.
func (r *response) recordNames(names map[ledger.ID]string) string {
	r.t.Helper()
	r.want(200, "")
	var found []string
	for i := range r.rows() {
		id, err := uuid.Parse(r.at(fmt.Sprintf("data.%d.id", i)))
		must(r.t, err)
		name, known := names[id]
		if !known {
			name = id.String()
		}
		found = append(found, name)
	}
	return strings.Join(found, " ")
}

func TestListIsNewestFirstAndItsRowsEqualSingleReads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.partner().get(transactions).want(200, `{"data":[],"cursor":{"cursor_field":"started","cursor_value":null}}`)
	var bodies []string
	for _, amount := range []string{"1", "2", "3"} {
		transaction := f.partner().post(transactions, paymentBody(`"amount":"`+amount+`","description":"Shoes","merchant_meta":{"a":[1]}`)).want(201, "")
		bodies = append([]string{transaction.body}, bodies...)
	}
	f.partner().get(transactions+"?env=test").want(200, `{"data":[`+strings.Join(bodies, ",")+`],"cursor":{"cursor_field":"started","cursor_value":null}}`)
}

func TestPageHas20RowsAndANullCursorIfItIsTheLast(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var records []*payment.Record
	for range 21 {
		records = append(records, newPayment("1", payment.Charged))
	}
	headers := f.storeRecords(records...)
	firstPage := f.partner().get(transactions).want(200, "")
	secondStarted := headers[1].StartedAt.Time().Format("2006-01-02T15:04:05.000000-07:00")
	if firstPage.rows() != 20 || firstPage.at("data.0.id") != records[20].ID.String() || firstPage.at("cursor.cursor_value") != secondStarted {
		t.Errorf("%d rows, cursor %s, want 20 and %s", firstPage.rows(), firstPage.at("cursor.cursor_value"), secondStarted)
	}
	lastPage := f.partner().get(transactions+"?cursor="+url.QueryEscape(secondStarted)).want(200, "")
	if lastPage.rows() != 1 || lastPage.at("data.0.id") != records[0].ID.String() || lastPage.at("cursor.cursor_value") != "null" {
		t.Errorf("the second page: %s", lastPage.body)
	}
	// A page that has all remaining rows is the last one, even if it has exactly as many rows as the limit.
	for _, limit := range []string{"21", "100"} {
		if all := f.partner().get(transactions + "?limit=" + limit); all.rows() != 21 || all.at("cursor.cursor_value") != "null" {
			t.Errorf("limit %s: %d rows, cursor %s", limit, all.rows(), all.at("cursor.cursor_value"))
		}
	}
}

func TestListRefusesOtherParameters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, name := range []string{"page", "offset", "from", "to", "currency", "partner_id", "group_by", "Status", "x y"} {
		f.partner().get(transactions+"?"+url.QueryEscape(name)+"=1").want(422, `{"errors":[{"code":"invalid","detail":"Unexpected field","field":"`+name+`"}]}`)
	}
	f.partner().get(transactions+"?page=1&offset=2").want(422,
		`{"errors":[{"code":"invalid","detail":"Unexpected field","field":"page"},{"code":"invalid","detail":"Unexpected field","field":"offset"}]}`)
	f.partner().get(transactions+"?txid=anything&txid=").want(422, `{"errors":[{"code":"invalid","detail":"txid is there twice","field":"txid"}]}`)
}

func TestListRefusesBadValuesByTheirNames(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	badQueries := map[string][]string{
		"limit":         {"0", "101", "-1", "+5", "05", "x", "1e1", "", "99999999999999999999"},
		"type":          {"refund", "Payment", ""},
		"env":           {"sandbox", ""},
		"order_by":      {"finished", "amount", ""},
		"status":        {""},
		"rrn":           {""},
		"link_id":       {"1", "0f8fad5bd9cb469fa16570867728950e", "{0f8fad5b-d9cb-469f-a165-70867728950e}", ""},
		"amount_from":   {"1.5", "-1", "", "x", strings.Repeat("9", 79)},
		"amount_to":     {"1e3", "007", strings.Repeat("9", 78)},
		"started_from":  {"2026-09-31", "2026-09-03T10:15:61", "1788430530", "2026-13-03T10:15:30Z", ""},
		"started_to":    {"yesterday"},
		"updated_from":  {"2026-09-03 10:15:30 Europe/Riga"},
		"updated_to":    {"2026-09-03T10:15:30 UTC"},
		"finished_from": {"2026-09-03T25:15:30Z"},
		"finished_to":   {"%00"},
		"cursor":        {"", "20", "2026-09-03"},
	}
	for name, values := range badQueries {
		for _, value := range values {
			r := f.partner().get(transactions+"?"+name+"="+url.QueryEscape(value)).want(422, "")
			if r.at("errors.0.field") != name || r.at("errors.1") != "(absent)" {
				t.Errorf("%s=%q: %s", name, value, r.body)
			}
		}
		if r := f.partner().get(transactions+"?"+name+"=1&"+name+"=1").want(422, ""); r.at("errors.0.field") != name {
			t.Errorf("%s twice: %s", name, r.body)
		}
	}
	r := f.partner().get(transactions+"?start_cursor=x&end_cursor=y").want(422, "")
	if r.at("errors.0.field") != "start_cursor" || r.at("errors.1.field") != "end_cursor" {
		t.Errorf("%s", r.body)
	}
}

func TestListFilters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, b, c, d := newPayment("100", payment.Charged), newPayment("200", payment.Rejected), newPayment("300", payment.Charged), newPayment("400", payment.Charging)
	b.Type = payment.Payout
	c.RRN, c.LinkID = "123456789012", uuid.MustParse("0f8fad5b-d9cb-469f-a165-70867728950e")
	testPayment, foreignPayment := newPayment("100", payment.Charged), newPayment("100", payment.Charged)
	testPayment.Asset.Env, foreignPayment.Partner = money.Test, 77
	f.storeRecords(a, b, c, d, testPayment, foreignPayment)
	names := map[ledger.ID]string{a.ID: "a", b.ID: "b", c.ID: "c", d.ID: "d", testPayment.ID: "tested"}
	for query, want := range map[string]string{
		"":                               "d c b a",
		"env=prod":                       "d c b a",
		"env=test":                       "tested",
		"status=charged":                 "c a",
		"status=charging":                "d",
		"status=no_such_status":          "",
		"status=Charged":                 "",
		"type=payout":                    "b",
		"type=payment":                   "d c a",
		"type=payment&status=charged":    "c a",
		"amount_from=200":                "d c b",
		"amount_to=200":                  "b a",
		"amount_from=200&amount_to=300":  "c b",
		"amount_from=301&amount_to=299":  "",
		"amount_from=0&amount_to=100":    "a",
		"rrn=123456789012":               "c",
		"rrn=210987654321":               "",
		"txid=ignored":                   "d c b a",
		"txid=":                          "d c b a",
		"order_by=updated":               "d c b a",
		"order_by=started&status=failed": "",
		"link_id=0f8fad5b-d9cb-469f-a165-70867728950e": "c",
		"link_id=0F8FAD5B-D9CB-469F-A165-70867728950E": "c",
		"link_id=00000000-0000-0000-0000-000000000000": "",
	} {
		if got := f.partner().get(transactions + "?" + query).recordNames(names); got != want {
			t.Errorf("%q: %s, want %s", query, got, want)
		}
	}
	for _, other := range []caller{f.second(), f.otherPartner()} {
		if got := other.get(transactions).recordNames(names); got != "" {
			t.Errorf("another partner sees %s", got)
		}
	}
}

// Three transactions start one hour apart. The second is final at once; the first fails an hour after the
// third has started.
func TestListBoundsOfTimeAreInclusiveAndExact(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, b, c := newPayment("1", payment.Charging), newPayment("2", payment.Charged), newPayment("3", payment.Charging)
	f.setTimeOfDay("11:00:00")
	f.storeRecords(a)
	f.setTimeOfDay("12:00:00")
	f.storeRecords(b)
	f.setTimeOfDay("13:00:00")
	f.storeRecords(c)
	f.setTimeOfDay("14:00:00")
	a.Status = payment.Failed
	f.storeVersion(1, 1, a)
	f.setTimeOfDay("15:00:00")
	names := map[ledger.ID]string{a.ID: "a", b.ID: "b", c.ID: "c"}
	for query, want := range map[string]string{
		"started_from=2026-09-03T12:00:00Z":                                   "c b",
		"started_from=2026-09-03T12:00:00.000001Z":                            "c",
		"started_from=2026-09-03T12:00:00.0000001Z":                           "c",
		"started_to=2026-09-03T12:00:00Z":                                     "b a",
		"started_to=2026-09-03T12:00:00.0000009Z":                             "b a",
		"started_to=2026-09-03T11:59:59.999999Z":                              "a",
		"started_from=2026-09-03T12:00:00Z&started_to=2026-09-03T12:00:00Z":   "b",
		"started_from=2026-09-03T12:00:01Z&started_to=2026-09-03T12:00:00Z":   "",
		"updated_from=2026-09-03T13:00:00Z":                                   "c a",
		"updated_from=2026-09-03T13:00:00Z&order_by=updated":                  "a c",
		"updated_to=2026-09-03T13:00:00Z":                                     "c b",
		"updated_to=2026-09-03T13:00:00Z&order_by=updated":                    "c b",
		"updated_from=2026-09-03T14:00:00Z&updated_to=2026-09-03T14:00:00Z":   "a",
		"finished_from=2026-09-03T12:00:00Z":                                  "b a",
		"finished_from=2026-09-03T12:00:00.000001Z&order_by=updated":          "a",
		"finished_to=2026-09-03T12:00:00Z":                                    "b",
		"finished_to=2026-09-03T15:00:00Z&finished_from=2026-09-03T00:00:00Z": "b a",
		"finished_to=2026-09-03T14:59:59Z&order_by=updated":                   "a b",
		"finished_to=1969-12-31T23:59:59Z":                                    "",
		"started_from=2026-09-03&started_to=2026-09-03":                       "c b a",
		"started_from=2026-09-03T12:00&started_to=20260903T140000%2B0200":     "b",
		"started_from=2026-09-03T12:00:01":                                    "c",
		"started_from=2026-09-04":                                             "",
		"started_to=2026-09-02":                                               "",
		"started_from=0001-01-01T00:00:00Z&started_to=9999-12-31T23:59:59Z":   "c b a",
		"started_from=2026-09-03T12:00:00Z&updated_to=2026-09-03T12:30:00Z":   "b",
		"started_to=2026-09-03T11:30:00Z&updated_from=2026-09-03T13:30:00Z":   "a",
		"order_by=updated":                             "a c b",
		"cursor=2026-09-03T13:00:00Z":                  "b a",
		"cursor=2026-09-03T13:00:00.0000001Z":          "c b a",
		"cursor=1950-01-01T00:00:00Z":                  "",
		"order_by=updated&cursor=2026-09-03T14:00:00Z": "c b",
		"order_by=updated&cursor=2026-09-03T14:00:00Z&updated_to=2026-09-03T12:30:00Z": "b",
	} {
		if got := f.partner().get(transactions + "?" + query).recordNames(names); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}

func TestListAcceptsEveryFormOfATime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, b := newPayment("1", payment.Charged), newPayment("2", payment.Charged)
	f.setTimeOfDay("11:00:00")
	f.storeRecords(a)
	f.setTimeOfDay("12:00:00")
	f.storeRecords(b)
	names := map[ledger.ID]string{a.ID: "a", b.ID: "b"}
	for _, form := range []string{
		"2026-09-03T12:00:00Z",
		"2026-09-03T12:00:00.000000Z",
		"2026-09-03T12:00:00%2B00:00",
		"2026-09-03T12:00:00+00:00", // the plus arrives as a space
		"2026-09-03T12:00:00%2000:00",
		"2026-09-03T15:00:00.000000+03:00",
		"2026-09-03T10:30:00-01:30",
		"2026-09-03T15:00:00%2B0300",
		"2026-09-03T15:00:00+03",
		"2026-09-03%2012:00:00.000000%20Etc/UTC",
		"2026-09-03+12:00:00.000000+Etc%2FUTC",
		"2026-09-03+12:00:00+Etc/UTC",
	} {
		if got := f.partner().get(transactions + "?started_from=" + form).recordNames(names); got != "b" {
			t.Errorf("%s: %s", form, got)
		}
	}
}

// While a manual clock stands still, the times of events run ahead of it by microseconds. If the bound of a query equals the
// clock's time, the list includes all these events.
func TestListUpToTheClocksInstantShowsEverything(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	transaction := f.partner().post(transactions, paymentBody(`"amount":"1"`)).want(201, "")
	now := f.Clock.Now()
	for query, want := range map[string]int{
		"started_to=" + now.Format(time.RFC3339Nano): 1, "finished_to=" + now.Format(time.RFC3339Nano): 1,
		"started_to=" + now.Add(-time.Microsecond).Format(time.RFC3339Nano): 0,
	} {
		if r := f.partner().get(transactions+"?env=test&"+query).want(200, ""); r.rows() != want {
			t.Errorf("%s: %s; made %s", query, r.body, transaction.at("started"))
		}
	}
}

// If several events create a transaction, it is listed by the time of the first of these events.
func TestListFindsATransactionByTheTimeItShows(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, b, c := newPayment("1", payment.Charged), newPayment("2", payment.Charged), newPayment("3", payment.Charged)
	f.setTimeOfDay("12:00:00")
	headers := f.storeVersion(0, 5, a, b, c) // started at .000000, .000005, .000010; updated 4 µs later
	if headers[1].StartedAt-headers[0].StartedAt != 5 || headers[1].UpdatedAt-headers[1].StartedAt != 4 {
		t.Fatalf("%+v", headers)
	}
	f.setTimeOfDay("13:00:00")
	names := map[ledger.ID]string{a.ID: "a", b.ID: "b", c.ID: "c"}
	for micros, want := range map[string]string{"0": "a", "3": "a", "4": "a", "5": "b a", "9": "b a", "10": "c b a"} {
		query := transactions + "?started_to=2026-09-03T12:00:00." + fmt.Sprintf("%06s", micros) + "Z"
		if got := f.partner().get(query).recordNames(names); got != want {
			t.Errorf("up to %s: %s, want %s", micros, got, want)
		}
	}
	for micros, want := range map[string]string{"0": "c b a", "1": "c b", "5": "c b", "6": "c", "10": "c", "11": ""} {
		query := transactions + "?started_from=2026-09-03T12:00:00." + fmt.Sprintf("%06s", micros) + "Z"
		if got := f.partner().get(query).recordNames(names); got != want {
			t.Errorf("from %s: %s, want %s", micros, got, want)
		}
	}
	for micros, want := range map[string]string{"0": "", "1": "a", "5": "a", "6": "b a", "11": "c b a"} {
		query := transactions + "?cursor=2026-09-03T12:00:00." + fmt.Sprintf("%06s", micros) + "Z"
		if got := f.partner().get(query).recordNames(names); got != want {
			t.Errorf("after %s: %s, want %s", micros, got, want)
		}
	}
}

// A window is the part of the list between the parameters start_cursor and end_cursor.
func TestWindowIncludesBothBounds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	names := map[ledger.ID]string{}
	for i, name := range []string{"a", "b", "c", "d"} {
		r := newPayment("1", payment.Charged)
		names[r.ID] = name
		f.setTimeOfDay(fmt.Sprintf("%d:00:00", 11+i))
		f.storeRecords(r)
	}
	f.setTimeOfDay("16:00:00")
	const b, c = "2026-09-03T12:00:00Z", "2026-09-03T13:00:00Z"
	for query, want := range map[string]string{
		"start_cursor=" + c + "&end_cursor=" + b:                        "c b",
		"start_cursor=" + b + "&end_cursor=" + c:                        "c b",
		"start_cursor=" + b + "&end_cursor=" + b:                        "b",
		"start_cursor=" + b + "&end_cursor=" + c + "&order_by=updated":  "c b",
		"start_cursor=" + b + "&end_cursor=" + c + "&limit=1":           "c",
		"start_cursor=" + b + "&end_cursor=" + c + "&cursor=" + c:       "b",
		"start_cursor=" + b + "&end_cursor=" + c + "&started_from=" + c: "c",
		"start_cursor=" + b + "&end_cursor=" + c + "&status=rejected":   "",
		"start_cursor=" + b:     "d c b a",
		"start_cursor=nonsense": "d c b a",
		"start_cursor=":         "d c b a",
		"end_cursor=" + b:       "d c b a",
	} {
		if got := f.partner().get(transactions + "?" + query).recordNames(names); got != want {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
	page := f.partner().get(transactions + "?limit=1&start_cursor=" + b + "&end_cursor=" + c)
	if page.at("cursor.cursor_value") != "2026-09-03T13:00:00.000000+00:00" {
		t.Errorf("the window goes on: %s", page.body)
	}
	page = f.partner().get(transactions + "?limit=1&start_cursor=" + b + "&end_cursor=" + c + "&cursor=" + c)
	if page.at("cursor.cursor_value") != "null" {
		t.Errorf("the window ends: %s", page.body)
	}
}

// If few records match, a bounded number of records is read for each page: a page may be empty and still
// have a cursor.
func TestFilteredPageReadsABoundedNumberOfRecords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	oldest := newPayment("1", payment.Failed)
	records := []*payment.Record{oldest}
	for range 1_100 {
		records = append(records, newPayment("1", payment.Charged))
	}
	f.storeRecords(records...)
	for order, want := range map[string]int{"started": 3, "updated": 3} {
		query, pages, found := transactions+"?limit=100&status=failed&order_by="+order, 0, 0
		for cursor := "start"; cursor != "null"; pages++ {
			r := f.partner().get(query).want(200, "")
			if found += r.rows(); r.rows() == 1 && r.at("data.0.id") != oldest.ID.String() {
				t.Errorf("%s", r.body)
			}
			cursor = r.at("cursor.cursor_value")
			query = transactions + "?limit=100&status=failed&order_by=" + order + "&cursor=" + url.QueryEscape(cursor)
		}
		if pages != want || found != 1 {
			t.Errorf("%s: %d found on %d pages, want 1 on %d", order, found, pages, want)
		}
	}
}
