package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
)

const subscriptions = "/api/v1/subscriptions"

// subscriptionBody returns the body that creates a subscription on the initial payment. It begins with the given fields.
func subscriptionBody(initial, fields string) string {
	return `{"params":{` + fields + `"initial_payment_id":"` + initial + `","amount":"990","period_days":30}}`
}

// subscribe creates a subscription of the first partner on a new payment.
func (f *fixture) subscribe() string {
	f.t.Helper()
	return f.partner().post(subscriptions, subscriptionBody(f.chargedPayment(), "")).want(201, "").at("data.id")
}

// advanceDays moves the manual clock.
func (f *fixture) advanceDays(days int) {
	f.t.Helper()
	f.admin().do("PUT", "/api/v1/sandbox/clock", fmt.Sprintf(`{"advance_seconds":%d}`, days*24*60*60)).want(200, "")
}

// POST /subscriptions with {params:{initial_payment_id,amount,period_days,metadata?}} returns 201 {data}.
func TestSubscriptionIsCreatedOnAChargedPayment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	initial := f.chargedPayment()
	r := f.partner().post(subscriptions, subscriptionBody(initial, `"metadata":{"plan":"gold"},`)).want(201, "")
	id := r.at("data.id")
	want := `{"data":{"id":"` + id + `","status":"active","initial_payment_id":"` + initial + `","amount":"990","currency":"RUB","network":"","env":"test",` +
		`"period_days":30,"next_renewal_at":"2026-10-03T10:15:30.123456+00:00","renewals":0,"failed_attempts":0,"last_transaction_id":null,` +
		`"metadata":{"plan":"gold"},"created_at":"` + r.at("data.created_at") + `"}}`
	if r.body != want || r.header.Get("location") != subscriptions+"/"+id {
		t.Errorf("answered\n%s at %q, want\n%s", r.body, r.header.Get("location"), want)
	}
	f.partner().get(subscriptions+"/"+id).want(200, want)
	if version := uuid.MustParse(id).Version(); version != 4 {
		t.Errorf("its id is a UUID of version %d", version)
	}
}

// A renewal is a separate transaction, which the partner reads like any other.
func TestRenewalIsASeparateTransaction(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	initial := f.partner().post(transactions, paymentBody(`"amount":"5000","currency":"USD"`)).want(201, "").at("id")
	id := f.partner().post(subscriptions, subscriptionBody(initial, "")).want(201, "").at("data.id")
	f.advanceDays(30)
	r := f.partner().get(subscriptions+"/"+id).want(200, "")
	if r.at("data.renewals") != "1" || r.at("data.next_renewal_at") != "2026-11-02T10:15:30.123456+00:00" {
		t.Errorf("%s", r.body)
	}
	renewal := f.partner().get(transactions+"/"+r.at("data.last_transaction_id")).want(200, "")
	for path, want := range map[string]string{
		"type": "payment", "status": "charged", "amount": "990", "currency": "USD", "env": "test",
		"merchant_meta.subscription_id": id, "merchant_meta.renewal_number": "1", "merchant_meta.renewal_attempt": "1",
	} {
		if got := renewal.at(path); got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if rows := f.partner().get(transactions + "?env=test"); rows.at("data.0.id") != renewal.at("id") || rows.rows() != 2 {
		t.Errorf("listed %s", rows.body)
	}
}

// No response contains the token with which the provider charges the card again.
func TestNoResponseShowsTheStoredCredential(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.subscribe()
	f.advanceDays(30)
	last := f.partner().get(subscriptions + "/" + id).at("data.last_transaction_id")
	initial := f.partner().get(subscriptions + "/" + id).at("data.initial_payment_id")
	for _, a := range []*response{
		f.partner().get(transactions + "/" + last), f.partner().get(transactions + "/" + initial), f.admin().get(transactions + "/" + initial),
		f.partner().get(subscriptions + "/" + id), f.partner().get(subscriptions + "?env=test"), f.partner().get(transactions + "?env=test"),
		f.auditor().get("/api/v1/ledger/events?source=" + id), f.auditor().get("/api/v1/ledger/events?source=" + initial),
	} {
		if a.want(200, ""); strings.Contains(a.body, "sim_") || strings.Contains(a.body, "token") && !strings.Contains(a.body, `"provider_token"`) {
			t.Errorf("responded %s", a.body)
		}
	}
	if strings.Contains(f.log.String(), "sim_") {
		t.Error("the log has the token")
	}
}

func TestInvalidSubscriptionIsRefusedByField(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	initial := f.chargedPayment()
	declined := f.partner().post(transactions, strings.Replace(paymentBody(`"amount":"1"`), "4242424242424242", "4000000000000002", 1)).want(201, "").at("id")
	foreignPayment := f.second().post(transactions, paymentBody(`"amount":"1"`)).want(201, "").at("id")
	wallet := f.partner().post(transactions, `{"params":{"type":"payment","env":"test","amount":"1",`+urls+`,"money_storage":{"type":"e_wallet"}}}`).want(201, "").at("id")
	before := f.eventCount()
	const id, amount, days = `"initial_payment_id":`, `"amount":"990"`, `"period_days":30`
	ownPayment := id + `"` + initial + `"`
	for name, c := range map[string]struct{ params, want string }{
		"nothing": {``, `initial_payment_id is required: the id of a charged payment; amount is required: a string of minor units; period_days is required`},
		"no id":   {amount + `,` + days, `initial_payment_id is required: the id of a charged payment`},
		"a null":  {id + `null,` + amount + `,` + days, `initial_payment_id is required: the id of a charged payment`},
		"no uuid": {id + `"x",` + amount + `,` + days, `initial_payment_id must be a UUID`},
		"unknown": {id + `"` + uuid.NewString() + `",` + amount + `,` + days, `there is no such payment`},
		"foreign": {id + `"` + foreignPayment + `",` + amount + `,` + days, `there is no such payment`},
		"declined": {id + `"` + declined + `",` + amount + `,` + days,
			`it is not a charged payment`},
		"a wallet": {id + `"` + wallet + `",` + amount + `,` + days,
			`the payment left no stored credential that could be charged again`},
		"a number":          {ownPayment + `,"amount":990,` + days, `amount is required: a string of minor units`},
		"no digits":         {ownPayment + `,"amount":"9.90",` + days, `amount must be a string of minor units`},
		"negative":          {ownPayment + `,"amount":"-1",` + days, `amount must be a string of minor units`},
		"zero":              {ownPayment + `,"amount":"0",` + days, `amount must be above zero and at most 10^72`},
		"too much":          {ownPayment + `,"amount":"1` + strings.Repeat("0", 72) + `1",` + days, `amount must be above zero and at most 10^72`},
		"beyond 256 bits":   {ownPayment + `,"amount":"1` + strings.Repeat("0", 90) + `",` + days, `amount must be a string of minor units`},
		"no days":           {ownPayment + `,` + amount + `,"period_days":0`, `period_days must be from 1 to 3660`},
		"too many days":     {ownPayment + `,` + amount + `,"period_days":3661`, `period_days must be from 1 to 3660`},
		"days in a string":  {ownPayment + `,` + amount + `,"period_days":"30"`, `period_days must be an integer from 1 to 3660`},
		"half a day":        {ownPayment + `,` + amount + `,"period_days":0.5`, `period_days must be an integer from 1 to 3660`},
		"very many days":    {ownPayment + `,` + amount + `,"period_days":99999999999999999999`, `period_days must be an integer from 1 to 3660`},
		"metadata, a list":  {ownPayment + `,` + amount + `,` + days + `,"metadata":[]`, `metadata must be an object`},
		"too much metadata": {ownPayment + `,` + amount + `,` + days + `,"metadata":{"a":"` + strings.Repeat("b", 8192) + `"}`, `metadata must be at most 8192 bytes`},
		"several":           {id + `"x","amount":"0","period_days":0,"metadata":1`, `initial_payment_id must be a UUID; amount must be above zero and at most 10^72; period_days must be from 1 to 3660; metadata must be an object`},
	} {
		r := f.partner().post(subscriptions, `{"params":{`+c.params+`}}`)
		var got []string
		list, _ := r.object()["errors"].([]any)
		for _, e := range list {
			detail := e.(map[string]any)
			got = append(got, fmt.Sprint(detail["detail"]))
			if field := fmt.Sprint(detail["field"]); !strings.Contains(`initial_payment_id amount period_days metadata`, field) {
				t.Errorf("%s: names the field %q", name, field)
			}
		}
		if r.status != 422 || strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %d %s, want 422 %s", name, r.status, r.body, c.want)
		}
	}
	for body, status := range map[string]int{`{}`: 422, `[]`: 422, `{"params":[]}`: 422, `{"params":{"amount":"1","amount":"2"}}`: 400, `{`: 400} {
		f.partner().post(subscriptions, body).want(status, "")
	}
	if after := f.eventCount(); after != before {
		t.Errorf("%d events are stored, were %d", after, before)
	}
}

// eventCount returns the number of events in the first organization.
func (f *fixture) eventCount() uint64 {
	f.t.Helper()
	v := f.Journal.View()
	defer v.Close()
	n, _, err := v.Head(f.seed.First.Org)
	must(f.t, err)
	return n
}

func TestSubscriptionIsPausedResumedAndCancelled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	path := subscriptions + "/" + f.subscribe()
	for _, step := range []struct {
		action        string
		status        int
		newState      string
		nextRenewalAt string
	}{
		{"resume", 409, "", ""},
		{"pause", 200, "paused", "null"},
		{"pause", 409, "", ""},
		{"resume", 200, "active", "2026-10-03T10:15:30.123456+00:00"},
		{"cancel", 200, "cancelled", "null"},
		{"cancel", 409, "", ""},
		{"pause", 409, "", ""},
		{"resume", 409, "", ""},
	} {
		r := f.partner().post(path+"/"+step.action, "")
		if r.status != step.status || step.status == 409 && r.at("error") != "conflict" ||
			step.status == 200 && (r.at("data.status") != step.newState || r.at("data.next_renewal_at") != step.nextRenewalAt) {
			t.Errorf("%s: %d %s, want %d %s %s", step.action, r.status, r.body, step.status, step.newState, step.nextRenewalAt)
		}
	}
	f.advanceDays(365)
	if r := f.partner().get(path); r.at("data.renewals") != "0" || r.at("data.status") != "cancelled" {
		t.Errorf("%s", r.body)
	}
}

// The id of another partner's subscription gets exactly the response of an unknown id.
func TestForeignSubscriptionEqualsAnUnknownOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.subscribe()
	for name, c := range map[string]caller{"another organization's": f.second(), "another partner's": f.otherPartner()} {
		for _, action := range []string{"", "/pause", "/resume", "/cancel"} {
			ask := func(id string) *response {
				if action == "" {
					return c.get(subscriptions + "/" + id)
				}
				return c.post(subscriptions+"/"+id+action, "")
			}
			foreign, random := ask(id), ask(uuid.NewString())
			if foreign.status != 404 || foreign.body != random.body || foreign.status != random.status {
				t.Errorf("%s%s: %d %s, a random one %d %s", name, action, foreign.status, foreign.body, random.status, random.body)
			}
		}
		if r := c.get(subscriptions + "?env=test"); r.rows() != 0 {
			t.Errorf("%s list has %s", name, r.body)
		}
	}
	f.partner().get(subscriptions+"/nonsense").want(404, "")
}

// Every write accepts an Idempotency-Key. A repeated request gets the same response. A request
// with the same key and another body gets 409.
func TestSubscriptionWritesTakeAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	initial := f.chargedPayment()
	keyed := func(key string) caller { return f.partner().with("idempotency-key", key) }
	body := subscriptionBody(initial, `"metadata":{"n":1},`)
	first := keyed("create").post(subscriptions, body).want(201, "")
	path := subscriptions + "/" + first.at("data.id")
	paused := keyed("pause").post(path+"/pause", "").want(200, "")
	resumed := keyed("resume").post(path+"/resume", "").want(200, "")
	f.advanceDays(65)
	cancelled := keyed("cancel").post(path+"/cancel", "").want(200, "")
	if cancelled.at("data.renewals") != "2" {
		t.Errorf("%s", cancelled.body)
	}
	for _, again := range []struct{ got, want *response }{
		{keyed("create").post(subscriptions, body), first},
		{keyed("pause").post(path+"/pause", ""), paused},
		{keyed("resume").post(path+"/resume", ""), resumed},
		{keyed("cancel").post(path+"/cancel", ""), cancelled},
	} {
		if again.got.want(again.want.status, again.want.body).header.Get("x-idempotent-replay") != "true" {
			t.Errorf("not marked as a replay: %s", again.got.body)
		}
	}
	for name, a := range map[string]*response{
		"another body":           keyed("create").post(subscriptions, subscriptionBody(initial, `"metadata":{"n":2},`)),
		"another path":           keyed("create").post(path+"/pause", ""),
		"a key on a transaction": keyed("pause").post(transactions, paymentBody(`"amount":"1"`)),
		"another action":         keyed("pause").post(path+"/cancel", ""),
		"a key that is empty":    nil,
	} {
		if a != nil && (a.status != 409 || a.at("error") != "conflict") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	keyed(strings.Repeat("k", 256)).post(path+"/pause", "").want(422, "")
	if rows := f.partner().get(subscriptions + "?env=test").rows(); rows != 1 {
		t.Errorf("%d subscriptions", rows)
	}
	// A request that was refused does not use its idempotency key.
	keyed("later").post(subscriptions, `{"params":{}}`).want(422, "")
	keyed("later").post(subscriptions, subscriptionBody(initial, "")).want(201, "")
}

func TestSubscriptionListHasPagesAndFilters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	initial := f.chargedPayment()
	var subscriptionIDs []string
	for range 3 {
		subscriptionIDs = append(subscriptionIDs, f.partner().post(subscriptions, subscriptionBody(initial, "")).want(201, "").at("data.id"))
	}
	f.partner().post(subscriptions+"/"+subscriptionIDs[0]+"/cancel", "").want(200, "")
	page := f.partner().get(subscriptions+"?env=test&limit=2").want(200, "")
	if page.rows() != 2 || page.at("data.0.id") != subscriptionIDs[2] || page.at("data.1.id") != subscriptionIDs[1] || page.at("cursor.cursor_field") != "created_at" {
		t.Fatalf("%s", page.body)
	}
	cursor := strings.ReplaceAll(page.at("cursor.cursor_value"), "+", "%2B")
	last := f.partner().get(subscriptions+"?env=test&limit=2&cursor="+cursor).want(200, "")
	if last.rows() != 1 || last.at("data.0.id") != subscriptionIDs[0] || last.at("cursor.cursor_value") != "null" {
		t.Errorf("%s", last.body)
	}
	if r := f.partner().get(subscriptions + "?env=test&status=cancelled"); r.rows() != 1 || r.at("data.0.id") != subscriptionIDs[0] {
		t.Errorf("%s", r.body)
	}
	if r := f.partner().get(subscriptions); r.rows() != 0 { // env defaults to prod
		t.Errorf("%s", r.body)
	}
	for query, field := range map[string]string{
		"?limit=0": "limit", "?limit=101": "limit", "?limit=x": "limit", "?status=done": "status", "?status=": "status", "?env=live": "env",
		"?cursor=x": "cursor", "?cursor=": "cursor", "?page=2": "page", "?env=test&env=prod": "env",
	} {
		if r := f.partner().get(subscriptions + query); r.status != 422 || r.at("errors.0.field") != field {
			t.Errorf("%s: %d %s", query, r.status, r.body)
		}
	}
}

// The journal shows a subscription's transitions. None of them has an accounting entry.
func TestJournalShowsASubscriptionsTransitions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.subscribe()
	f.advanceDays(30)
	r := f.auditor().get("/api/v1/ledger/events?source="+id).want(200, "")
	var got []string
	for i := range r.rows() {
		got = append(got, r.at(fmt.Sprintf("data.%d.event", i)))
	}
	if strings.Join(got, " ") != "renewed renew create" || strings.Contains(r.body, `"entry":{`) {
		t.Errorf("%s", r.body)
	}
}
