package clustering

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"mizan/internal/clock"
	"mizan/internal/stripestub"
	"mizan/internal/testkit"
)

// inquiryTime is the time after which the server asks Stripe by itself about a payment that waits for its payer.
const inquiryTime = time.Minute

// An event of Stripe reaches the shard of its terminal through every node, and no node accepts one that Stripe has not signed. The
// payers authenticate at Stripe and do not return, so only the event tells about the payment at once.
func TestStripesEventsReachTheirShardThroughEveryNode(t *testing.T) {
	r := start(t, filepath.Join(t.TempDir(), "cluster"), 3)
	nodes := r.box.Nodes
	const webhookSecret = "whsec_cluster"
	stub := stripestub.New(t, stripestub.Options{Clock: clock.Real{}, RawCards: true})
	first := &nodes[0]
	admin := []string{"x-organization-id", r.value("organization_id")}
	var list struct{ Data []struct{ ID string } }
	r.decode(r.operate(first, http.MethodGet, "/api/v1/terminals?limit=100", "", admin...), http.StatusOK, &list)
	for _, terminal := range list.Data {
		r.decode(r.operate(first, http.MethodPatch, "/api/v1/terminal/"+terminal.ID, `{"is_active":false}`, admin...), http.StatusOK, new(any))
	}
	var created struct{ Data struct{ ID string } }
	r.decode(r.operate(first, http.MethodPost, "/api/v1/terminal", fmt.Sprintf(`{"partner_id":%s,"name":"Stripe","provider":"stripe","type":"payment","env":"test",`+
		`"provider_params":{"secret_key":%q,"webhook_secret":%q,"api_base":%q,"raw_cards":true,"poll_seconds":86400}}`,
		r.box.values["partner_id"], stripestub.DefaultSecretKey, webhookSecret, stub.URL), admin...), http.StatusCreated, &created)
	path := "/api/v1/providers/stripe/" + created.Data.ID
	key := []string{"x-api-key", r.value("api_key"), "x-organization-id", r.value("organization_id")}
	for i := range nodes {
		n := &nodes[i]
		made := r.send(n, http.MethodPost, "/api/v1/transactions", fmt.Sprintf(`{"params":{"type":"payment","amount":"1250","currency":"USD","env":"test","txid":"by %s",`+
			`"returnUrl":"https://shop.example/ok","failUrl":"https://shop.example/no","money_storage":{"type":"bank_card","cardnumber":"4000002760003184",`+
			`"cardholder":"A PAYER","exp_month":"12","exp_year":"2031","cvv":"123"}}}`, n.Name), key...)
		var shown struct {
			ID, Status string
			Meta       struct {
				Intent string `json:"stripe_payment_intent"`
			} `json:"merchant_meta"`
		}
		if r.decode(made, http.StatusCreated, &shown); shown.Status != "action_required" {
			t.Fatalf("%s: %s", n.Name, made.body)
		}
		began := time.Now()
		if _, err := stub.Authenticate(shown.Meta.Intent, true); err != nil {
			t.Fatal(err)
		}
		events := stub.Events()
		at := slices.IndexFunc(events, func(e stripestub.Event) bool {
			return e.Type == "payment_intent.succeeded" && bytes.Contains(e.Body, []byte(shown.ID))
		})
		if at < 0 {
			t.Fatal("the stub has no event of the payment")
		}
		body := string(events[at].Body)
		for _, c := range []struct {
			secret string
			want   int
		}{{"whsec_other", http.StatusBadRequest}, {webhookSecret, http.StatusOK}} {
			signature := stripestub.Sign(events[at].Body, c.secret, time.Now())
			if a := r.send(n, http.MethodPost, path, body, "stripe-signature", signature); a.status != c.want {
				t.Errorf("%s: an event signed with %s is answered with %d %s", n.Name, c.secret, a.status, a.body)
			}
		}
		testkit.WaitUntil(t, "the payment is charged", func() bool {
			return r.send(n, http.MethodGet, "/api/v1/transactions/"+shown.ID, "", key...).member(t, "status") == "charged"
		})
		if took := time.Since(began); took > inquiryTime/2 {
			t.Errorf("%s: the payment was charged only after %v", n.Name, took)
		}
	}
	r.wantEventOfAnotherShard(nodes, fmt.Sprintf(`"provider":"stripe","type":"payment","env":"test","provider_params":{"secret_key":%q,"webhook_secret":%q,"api_base":"https://127.0.0.1:1"}`,
		stripestub.DefaultSecretKey, webhookSecret), func(body string) string { return stripestub.Sign([]byte(body), webhookSecret, time.Now()) })
	if err := stub.Check(); err != nil {
		t.Error(err)
	}
}

// decode checks the status of an answer, and decodes it.
func (r *running) decode(a *answer, status int, into any) {
	r.t.Helper()
	if a.status != status {
		r.t.Fatalf("%d %s, want %d", a.status, a.body, status)
	}
	if err := json.Unmarshal(a.body, into); err != nil {
		r.t.Fatal(err)
	}
}

// wantEventOfAnotherShard checks that an event is accepted whose terminal belongs to an organization in another shard than the one that
// is asked first.
func (r *running) wantEventOfAnotherShard(nodes []node, terminal string, sign func(body string) string) {
	r.t.Helper()
	var org, partner, made struct {
		Data struct{ ID any }
	}
	admin := func() []string { return []string{"x-organization-id", fmt.Sprint(org.Data.ID)} }
	for shard := "1"; shard == "1"; {
		r.decode(r.operate(&nodes[0], http.MethodPost, "/api/v1/organizations", `{"name":"Elsewhere","type":"merchant","status":"active"}`), http.StatusCreated, &org)
		shard = r.operate(&nodes[0], http.MethodGet, "/api/v1/partners", "", admin()...).header.Get("x-mizan-shard")
	}
	r.decode(r.operate(&nodes[0], http.MethodPost, "/api/v1/partners", `{"name":"Shop","login":"elsewhere","pass":"nine-Lions-paint"}`, admin()...), http.StatusCreated, &partner)
	r.decode(r.operate(&nodes[0], http.MethodPost, "/api/v1/terminal", fmt.Sprintf(`{"partner_id":%v,"name":"Stripe",%s}`, partner.Data.ID, terminal), admin()...), http.StatusCreated, &made)
	const body = `{"id":"evt_1","type":"payment_intent.succeeded","data":{"object":{"id":"pi_1","metadata":{}}}}`
	for i := range nodes {
		a := r.send(&nodes[i], http.MethodPost, fmt.Sprint("/api/v1/providers/stripe/", made.Data.ID), body, "stripe-signature", sign(body))
		if a.status != http.StatusOK || a.header.Get("x-mizan-shard") == "1" {
			r.t.Errorf("%s: shard %s answers %d %s", nodes[i].Name, a.header.Get("x-mizan-shard"), a.status, a.body)
		}
	}
}
