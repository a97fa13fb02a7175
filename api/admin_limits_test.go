package api_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"

	"mizan/api"
	"mizan/ledger"
	"mizan/ledger/directory"
	"mizan/ledger/money"
)

const (
	limitsPath   = "/api/v1/limits"
	velocityBody = `{"partner_id":1,"kind":"velocity","max_count":5,"window":"hour"}` // the body that creates a velocity limit
)

// fieldProblems returns the refused fields of a response with their details, separated by "|".
func (r *response) fieldProblems() string {
	r.t.Helper()
	var got []string
	problems, _ := r.object()["errors"].([]any)
	for _, problem := range problems {
		p := problem.(map[string]any)
		got = append(got, p["field"].(string)+": "+p["detail"].(string))
	}
	return strings.Join(got, "|")
}

// wantFields checks fields of a response. want has the fields' paths and texts.
func (r *response) wantFields(want map[string]string) {
	r.t.Helper()
	for path, value := range want {
		if got := r.at(path); got != value {
			r.t.Errorf("%s = %s, want %s, in %s", path, got, value, r.body)
		}
	}
}

func (f *fixture) createLimit(body string) *response {
	f.t.Helper()
	return f.admin().post(limitsPath, body).want(201, "")
}

func TestLimitIsCreatedReadAndListed(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	limit := f.createLimit(`{"partner_id":1,"kind":"daily_volume","type":"payment","currency":"ETH","max_amount":"1000","scope":"card"}`)
	limit.wantFields(map[string]string{
		"data.partner_id": "1", "data.terminal_id": "null", "data.kind": "daily_volume", "data.type": "payment", "data.currency": "ETH",
		"data.network": "ethereum", "data.env": "prod", "data.max_amount": "1000", "data.max_count": "null", "data.window": "null",
		"data.scope": "card", "data.active": "true",
	})
	if !strings.HasPrefix(limit.at("data.created_at"), "2026-09-03T10:15:30.") {
		t.Errorf("%s", limit.body)
	}
	terminal := f.admin().get("/api/v1/terminals?partner_id=1")
	velocityLimit := f.createLimit(`{"params":{"partner_id":1,"terminal_id":"` + terminal.at("data.0.id") + `","kind":"velocity","max_count":5,"window":"hour","env":"` + terminal.at("data.0.env") + `","active":false}}`)
	velocityLimit.wantFields(map[string]string{
		"data.terminal_id": terminal.at("data.0.id"), "data.kind": "velocity", "data.type": "null", "data.currency": "null", "data.network": "",
		"data.env": terminal.at("data.0.env"), "data.max_amount": "null", "data.max_count": "5", "data.window": "hour", "data.scope": "partner", "data.active": "false",
	})
	f.admin().get(limitsPath+"/"+limit.at("data.id")).want(200, limit.body)
	if ids := columnOfPages(t, f.admin(), limitsPath+"?partner_id=1", 1, "id"); strings.Join(ids, " ") != velocityLimit.at("data.id")+" "+limit.at("data.id") {
		t.Errorf("list %v", ids)
	}
	for _, unknownPartner := range []string{"99999", "2"} {
		f.admin().get(limitsPath+"?partner_id="+unknownPartner).want(404, "")
	}
	for query, field := range map[string]string{"page=1": "page", "limit=501": "limit", "cursor=x": "cursor", "partner_id=0": "partner_id"} {
		if r := f.admin().get(limitsPath+"?"+query).want(422, ""); r.at("errors.0.field") != field {
			t.Errorf("%s: %s", query, r.body)
		}
	}
	if active := f.directory.Limits(f.seed.First.Org, 1); len(active) != 1 || active[0].ID.String() != limit.at("data.id") {
		t.Errorf("%v in force", active)
	}
}

func TestInvalidLimitsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	foreignTerminal := f.admin().with("x-organization-id", f.seed.Second.Org.String()).get("/api/v1/terminals").at("data.0.id")
	const amountDetail, countDetail = "max_amount must be a string of minor units", "max_count must be an integer from 1 to 1000000"
	const volumeFields, velocityFields = `"partner_id":1,"kind":"daily_volume","currency":"USD"`, `"partner_id":1,"kind":"velocity"`
	for body, want := range map[string]string{
		`{}`:                                     "partner_id: partner_id is required|kind: must be per_transaction, daily_volume, monthly_volume or velocity",
		`{` + volumeFields + `,"partner_id_":1}`: "max_amount: is required",
		`{` + velocityFields + `,"window":"minute"}`:                                                   "max_count: is required",
		`{"partner_id":9,"kind":"daily_volume","currency":"USD","max_amount":"1"}`:                     "partner_id: partner 9 does not exist",
		`{"partner_id":2,"kind":"daily_volume","currency":"USD","max_amount":"1"}`:                     "partner_id: partner 2 does not exist",
		`{"partner_id":"1","kind":"daily_volume","currency":"USD","max_amount":"1"}`:                   "partner_id: partner_id must be an integer of at least 1",
		`{` + volumeFields + `,"max_amount":"1","terminal_id":"` + uuid.NewString() + `"}`:             "terminal_id: no such terminal of the partner",
		`{` + volumeFields + `,"max_amount":"1","terminal_id":"` + foreignTerminal + `"}`:              "terminal_id: no such terminal of the partner",
		`{` + volumeFields + `,"max_amount":"1","terminal_id":"00000000-0000-0000-0000-000000000000"}`: "terminal_id: terminal_id must be a UUID",
		`{` + volumeFields + `,"max_amount":"1","terminal_id":"1"}`:                                    "terminal_id: terminal_id must be a UUID",
		`{` + volumeFields + `,"max_amount":1}`:                                                        "max_amount: " + amountDetail,
		`{` + volumeFields + `,"max_amount":"0"}`:                                                      "max_amount: max_amount must be above zero",
		`{` + volumeFields + `,"max_amount":"-1"}`:                                                     "max_amount: max_amount must be a string of minor units",
		`{` + volumeFields + `,"max_amount":"1.5"}`:                                                    "max_amount: max_amount must be a string of minor units",
		`{` + volumeFields + `,"max_amount":"1` + strings.Repeat("0", 71) + `1"}`:                      "max_amount: max_amount is out of range",
		`{` + volumeFields + `,"max_amount":"1` + strings.Repeat("0", 78) + `"}`:                       "max_amount: max_amount must be a string of minor units",
		`{` + volumeFields + `,"max_amount":"1","max_count":1}`:                                        "max_count: is for velocity only",
		`{` + volumeFields + `,"max_amount":"1","window":"hour"}`:                                      "window: is for velocity only",
		`{` + velocityFields + `,"window":"minute","max_count":0}`:                                     "max_count: " + countDetail,
		`{` + velocityFields + `,"window":"minute","max_count":1000001}`:                               "max_count: " + countDetail,
		`{` + velocityFields + `,"window":"minute","max_count":1.0}`:                                   "max_count: " + countDetail,
		`{` + velocityFields + `,"window":"minute","max_count":"5"}`:                                   "max_count: " + countDetail,
		`{` + velocityFields + `,"window":"day","max_count":5}`:                                        "window: must be minute or hour",
		`{` + velocityFields + `,"max_count":5}`:                                                       "window: must be minute or hour",
		`{` + velocityFields + `,"window":"minute","max_count":5,"max_amount":"1"}`:                    "max_amount: is for the other kinds: velocity takes max_count",
		`{` + velocityFields + `,"window":"minute","max_count":5,"network":"tron"}`:                    "network: is of no use without currency",
		`{"partner_id":1,"kind":"weekly_volume"}`:                                                      "kind: must be per_transaction, daily_volume, monthly_volume or velocity",
		`{"partner_id":1,"kind":"daily_volume","max_amount":"1"}`:                                      "currency: is required",
		`{"partner_id":1,"kind":"daily_volume","currency":"JPY","max_amount":"1"}`:                     "currency: unsupported currency JPY",
		`{"partner_id":1,"kind":"velocity","currency":"usd","max_count":1,"window":"hour"}`:            "currency: unsupported currency usd",
		`{"partner_id":1,"kind":"daily_volume","currency":"USDT","max_amount":"1"}`:                    `network: is required: USDT is on several networks ("" is for transactions whose network is unresolved)`,
		`{"partner_id":1,"kind":"daily_volume","currency":"USDT","max_amount":"1","network":null}`:     `network: is required: USDT is on several networks ("" is for transactions whose network is unresolved)`,
		`{"partner_id":1,"kind":"daily_volume","currency":"USDT","max_amount":"1","network":"x"}`:      "network: is no network of USDT",
		`{` + volumeFields + `,"max_amount":"1","env":"live"}`:                                         "env: must be prod or test",
		`{` + volumeFields + `,"max_amount":"1","type":"merchant"}`:                                    "type: must be payment or payout",
		`{` + volumeFields + `,"max_amount":"1","scope":"phone"}`:                                      "scope: must be partner, card, email or ip",
		`{` + volumeFields + `,"max_amount":"1","active":"no"}`:                                        "active: active must be true or false",
		`{"partner_id":1,"kind":"per_transaction","currency":"USD","max_amount":"1","scope":"card"}`:   "scope: must be partner: one transaction is nobody's sum",
	} {
		if r := f.admin().post(limitsPath, body); r.status != 422 || r.fieldProblems() != want {
			t.Errorf("%s: %d %s, want %s", body, r.status, r.body, want)
		}
	}
	f.admin().post(limitsPath, `{`+volumeFields+`,"max_amount":"1","max_amount":"2"}`).want(400, "")
	if list := f.admin().get(limitsPath).want(200, ""); list.rows() != 0 {
		t.Errorf("what was refused is there: %s", list.body)
	}
	f.createLimit(`{` + volumeFields + `,"max_amount":"1` + strings.Repeat("0", 72) + `"}`)
	f.createLimit(`{` + velocityFields + `,"window":"minute","max_count":100000}`)
	unresolved := f.createLimit(`{"partner_id":1,"kind":"daily_volume","currency":"USDT","max_amount":"1","network":""}`)
	unresolved.wantFields(map[string]string{"data.network": "", "data.currency": "USDT"})
}

func TestOnlyALimitsBoundAndActiveFlagCanChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	limit := f.createLimit(`{"partner_id":1,"kind":"daily_volume","currency":"USD","max_amount":"1000"}`)
	path := limitsPath + "/" + limit.at("data.id")
	raised := f.admin().patch(path, `{"max_amount":"2000","kind":"daily_volume","partner_id":1,"currency":"USD","network":"","env":"prod","scope":"partner"}`).want(200, "")
	raised.wantFields(map[string]string{"data.max_amount": "2000", "data.created_at": limit.at("data.created_at")})
	for body, want := range map[string]string{
		`{"partner_id":2}`:                           "partner_id: partner_id never changes",
		`{"terminal_id":"` + uuid.NewString() + `"}`: "terminal_id: terminal_id never changes",
		`{"kind":"monthly_volume"}`:                  "kind: kind never changes",
		`{"type":"payout"}`:                          "type: type never changes",
		`{"currency":"EUR"}`:                         "currency: currency never changes",
		`{"network":"tron"}`:                         "network: network never changes",
		`{"env":"test"}`:                             "env: env never changes",
		`{"window":"hour"}`:                          "window: window never changes",
		`{"scope":"ip","max_amount":"5"}`:            "scope: scope never changes",
		`{"max_count":5}`:                            "max_count: is for velocity only",
		`{"max_amount":"0"}`:                         "max_amount: max_amount must be above zero",
		`{"active":1}`:                               "active: active must be true or false",
	} {
		if r := f.admin().patch(path, body); r.status != 422 || r.fieldProblems() != want {
			t.Errorf("%s: %d %s, want %s", body, r.status, r.body, want)
		}
	}
	f.admin().get(path).want(200, raised.body)
	deactivated := f.admin().do("DELETE", path, "").want(200, "")
	deactivated.wantFields(map[string]string{"data.active": "false", "data.max_amount": "2000"})
	f.admin().do("DELETE", path, "").want(200, deactivated.body)
	f.admin().get(path).want(200, deactivated.body)
	if active := f.directory.Limits(f.seed.First.Org, 1); active != nil {
		t.Errorf("%v in force", active)
	}
	f.admin().patch(path, `{"active":true}`).want(200, raised.body)
	events := f.auditor().get(ledgerPath+"/events?limit=4").want(200, "")
	events.wantFields(map[string]string{
		"data.3.event": "create", "data.3.to": "active", "data.2.event": "update", "data.1.event": "deactivate", "data.1.to": "inactive",
		"data.0.event": "activate", "data.0.to": "active", "data.0.source": limit.at("data.id"),
	})
}

func TestHundredAndFirstActiveLimitIsAConflict(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const body = `{"partner_id":1,"kind":"velocity","max_count":5,"window":"hour"`
	for range directory.MaxLimits {
		f.createLimit(body + `}`)
	}
	if r := f.admin().post(limitsPath, body+`}`).want(409, ""); r.at("error") != "conflict" {
		t.Errorf("%s", r.body)
	}
	inactive := f.createLimit(body + `,"active":false}`)
	f.admin().patch(limitsPath+"/"+inactive.at("data.id"), `{"active":true}`).want(409, "")
}

func TestLimitIsCreatedOncePerIdempotencyKey(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	keyed := f.admin().with("idempotency-key", "one")
	created := keyed.post(limitsPath, velocityBody).want(201, "")
	if repeated := keyed.post(limitsPath, velocityBody).want(201, created.body); repeated.header.Get("x-idempotent-replay") != "true" {
		t.Error("no replay")
	}
	keyed.post(limitsPath, strings.Replace(velocityBody, "5", "6", 1)).want(409, "")
	path := limitsPath + "/" + created.at("data.id")
	deactivated := f.admin().with("idempotency-key", "two").do("DELETE", path, "").want(200, "")
	f.admin().patch(path, `{"active":true}`).want(200, "")
	f.admin().with("idempotency-key", "two").do("DELETE", path, "").want(200, deactivated.body)
	if list := f.admin().get(limitsPath); list.rows() != 1 || list.at("data.0.active") != "true" {
		t.Errorf("%s", list.body)
	}
}

// fakeUsage is an admin.UsageReader that returns the usage and the error that a test sets, and records the subject of each call.
type fakeUsage struct {
	usage    directory.Usage
	err      error
	subjects []string
}

func (u *fakeUsage) Usage(_ context.Context, _ *directory.Limit, subject string) (directory.Usage, error) {
	u.subjects = append(u.subjects, subject)
	return u.usage, u.err
}

func TestUsageOfALimitIsShown(t *testing.T) {
	t.Parallel()
	usage := new(fakeUsage)
	f := newFixture(t, func(c *api.Config) { c.UsageReader = usage })
	readUsage := func(limit *response) *response {
		t.Helper()
		return f.admin().get(limitsPath+"/"+limit.at("data.id")+"/usage").want(200, "")
	}
	resets := ledger.MicrosOf(began)
	usage.usage = directory.Usage{SettledAmount: money.FromUint64(300), ReservedAmount: money.FromUint64(200), ResetsAt: resets}
	readUsage(f.createLimit(`{"partner_id":1,"kind":"daily_volume","currency":"USD","max_amount":"1000"}`)).
		want(200, `{"data":{"used":"300","reserved":"200","remaining":"500","resets_at":"2026-09-03T10:15:30.123456+00:00"}}`)
	readUsage(f.createLimit(`{"partner_id":1,"kind":"monthly_volume","currency":"USD","max_amount":"499"}`)).
		want(200, `{"data":{"used":"300","reserved":"200","remaining":"0","resets_at":"2026-09-03T10:15:30.123456+00:00"}}`)
	usage.usage = directory.Usage{Count: 2, ResetsAt: resets}
	readUsage(f.createLimit(velocityBody)).
		want(200, `{"data":{"used":2,"reserved":0,"remaining":3,"resets_at":"2026-09-03T10:15:30.123456+00:00"}}`)
	usage.usage = directory.Usage{}
	readUsage(f.createLimit(`{"partner_id":1,"kind":"per_transaction","currency":"USD","max_amount":"1000"}`)).
		want(200, `{"data":{"used":"0","reserved":"0","remaining":"1000","resets_at":null}}`)
	usage.err = ledger.Refuse("test", ledger.Unavailable, "no answer in time")
	limit := f.createLimit(velocityBody)
	f.admin().get(limitsPath+"/"+limit.at("data.id")+"/usage").want(503, "")
	f.admin().get(limitsPath+"/"+uuid.NewString()+"/usage").want(404, "")
}

func TestUsageOfAScopedLimitCountsOnePayer(t *testing.T) {
	t.Parallel()
	usage := new(fakeUsage)
	f := newFixture(t, func(c *api.Config) { c.UsageReader = usage })
	paths := map[string]string{}
	for _, scope := range []string{"partner", "card", "email", "ip"} {
		limit := f.createLimit(`{"partner_id":1,"kind":"daily_volume","currency":"USD","env":"test","max_amount":"1000","scope":"` + scope + `"}`)
		paths[scope] = limitsPath + "/" + limit.at("data.id") + "/usage"
	}
	paymentID := f.partner().post(transactions, paymentBody(`"amount":"100"`)).want(201, "").at("id")
	cardlessID := f.partner().post(transactions, `{"params":{"type":"payment","amount":"100","env":"test","returnUrl":"https://a.example","failUrl":"https://a.example","money_storage":{"type":"klarna"}}}`).want(201, "").at("id")
	foreignID := f.second().post(transactions, paymentBody(`"amount":"100"`)).want(201, "").at("id")
	fingerprint := f.Keyring.Fingerprint([]byte("4242424242424242"))
	for _, c := range []struct{ scope, query, subject string }{
		{"partner", "", ""},
		{"card", "?card=" + fingerprint, fingerprint},
		{"card", "?transaction_id=" + paymentID, fingerprint},
		{"email", "?email=A@example.com", "08168cd80dfd534ab0f10af10f1303fe"}, // the first half of the address's SHA-256
		{"ip", "?ip=192.0.2.1", "37fcff24bf62035b2b08020afc08b4fe"},
		{"ip", "?ip=::ffff:192.0.2.1", "37fcff24bf62035b2b08020afc08b4fe"},
	} {
		usage.subjects = nil
		f.admin().get(paths[c.scope]+c.query).want(200, "")
		if len(usage.subjects) != 1 || usage.subjects[0] != c.subject {
			t.Errorf("%s%s: asked for %q, want %q", c.scope, c.query, usage.subjects, c.subject)
		}
	}
	for _, c := range []struct{ scope, query, want string }{
		{"partner", "?email=a@example.com", "email: Unexpected field"},
		{"card", "", "card: card or transaction_id is required: the limit is for each card"},
		{"card", "?card=4242424242424242", "card: card must be a card's fingerprint"},
		{"card", "?transaction_id=x", "transaction_id: transaction_id must be a UUID"},
		{"card", "?transaction_id=" + uuid.NewString(), "transaction_id: no such transaction of the partner"},
		{"card", "?transaction_id=" + foreignID, "transaction_id: no such transaction of the partner"},
		{"card", "?transaction_id=" + cardlessID, "transaction_id: the transaction has no card"},
		{"email", "", "email: email is required: the limit is for each email"},
		{"ip", "", "ip: ip is required: the limit is for each ip"},
		{"ip", "?ip=localhost", "ip: ip must be an IP address"},
	} {
		if r := f.admin().get(paths[c.scope] + c.query); r.status != 422 || r.fieldProblems() != c.want {
			t.Errorf("%s%s: %d %s, want %s", c.scope, c.query, r.status, r.body, c.want)
		}
	}
}

func TestUsageOfALimitIs503WithoutAUsageService(t *testing.T) {
	t.Parallel()
	f := newFixture(t, func(c *api.Config) { c.UsageReader = nil })
	limit := f.createLimit(velocityBody)
	f.admin().get(limitsPath+"/"+limit.at("data.id")+"/usage").want(503, "")
}

// These are the kinds of limits that the specification names in "Partner limits".
func TestPartnerHasTheFourKindsOfLimits(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, body := range []string{
		`"kind":"per_transaction","currency":"USD","max_amount":"1000"`,
		`"kind":"daily_volume","currency":"USD","max_amount":"1000"`,
		`"kind":"monthly_volume","currency":"USD","max_amount":"1000"`,
		`"kind":"velocity","max_count":5,"window":"minute"`,
		`"kind":"velocity","max_count":5,"window":"hour"`,
	} {
		f.createLimit(`{"partner_id":1,` + body + `}`)
	}
	var kinds []string
	for _, l := range f.directory.Limits(f.seed.First.Org, 1) {
		kinds = append(kinds, string(l.Kind)+" "+l.WindowName())
	}
	if got, want := strings.Join(kinds, ", "), "per_transaction , daily_volume , monthly_volume , velocity minute, velocity hour"; got != want {
		t.Errorf("%s in force, want %s", got, want)
	}
}
