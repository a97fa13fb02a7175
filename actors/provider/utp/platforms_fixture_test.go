package utp_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

const (
	v1           = "/api/v1"
	transactions = v1 + "/transactions"
	shop         = "https://shop.example"
	hookSecret   = "between-the-platforms"
)

// platforms are two servers, ours and another platform: our partners' payments are routed to its partners.
type platforms struct {
	t            *testing.T
	ours, theirs *testkit.Server
	terminals    []string // our terminals that are connected to the other platform, of both partners
	proxy        *proxy   // between the two servers; nil: no proxy
}

// partnerPair is a partner of ours, and the other platform's partner to which our partner's payments are routed.
type partnerPair struct {
	*platforms
	isSecond        bool
	org             string // our organization
	partner         int64
	openingBalances map[string]*big.Int // on the other platform: the available balances by asset, before any money has moved
}

var manualClock = []string{"--clock", "manual"}

func startPlatforms(t *testing.T) *platforms {
	t.Helper()
	return &platforms{t: t, theirs: testkit.Start(t, testkit.Options{Flags: manualClock}), ours: testkit.Start(t, testkit.Options{Flags: manualClock})}
}

// connectPartners connects our first or second partner to the same partner of the other platform. weHold and theyHold
// say whether our terminals, and the other platform's, hold money before they charge it.
func (p *platforms) connectPartners(isSecond, weHold, theyHold bool) *partnerPair {
	p.t.Helper()
	pair := &partnerPair{platforms: p, isSecond: isSecond, org: p.ours.Sandbox.OrganizationID, partner: p.ours.Sandbox.PartnerID}
	if isSecond {
		pair.org, pair.partner = p.ours.Sandbox.Second.OrganizationID, p.ours.Sandbox.Second.PartnerID
	}
	theirOrg, theirKey := p.theirs.Sandbox.OrganizationID, p.theirs.Sandbox.APIKey
	if isSecond {
		theirOrg, theirKey = p.theirs.Sandbox.Second.OrganizationID, p.theirs.Sandbox.Second.APIKey
	}
	admin := p.ours.Admin().With("x-organization-id", pair.org)
	for _, t := range p.list(admin, v1+"/terminals?limit=100") {
		p.want(200)(admin.Do("PATCH", v1+"/terminal/"+t.text("id"), `{"is_active":false}`))
	}
	if theyHold {
		their := p.theirs.Admin().With("x-organization-id", theirOrg)
		for _, t := range p.list(their, v1+"/terminals?limit=100") {
			p.want(200)(their.Do("PATCH", v1+"/terminal/"+t.text("id"), `{"provider_params":{"two_phase":true}}`))
		}
	}
	ca, err := os.ReadFile(p.theirs.Sandbox.CAFile)
	if err != nil {
		p.t.Fatal(err)
	}
	address := p.theirs.BaseURL
	if p.proxy != nil {
		address, ca = p.proxy.address()
	}
	for _, kind := range []string{"payment", "payout"} {
		terminal := p.want(201)(admin.Post(v1+"/terminal", map[string]any{
			"partner_id": pair.partner, "name": "another platform", "provider": "utp", "type": kind, "env": "prod",
			"provider_params": map[string]any{
				"base_url": address, "organization_id": theirOrg, "api_key": theirKey, "ca_pem": string(ca), "webhook_secret": hookSecret,
				"two_phase": weHold,
			},
		}))
		p.terminals = append(p.terminals, terminal.text("data.id"))
	}
	pair.openingBalances = pair.theirBalances()
	return pair
}

// object is the JSON of a response.
type object struct {
	t     *testing.T
	value any
}

// want returns a function that decodes a response, which must have the status.
func (p *platforms) want(status int) func(*testkit.Answer, error) object {
	return func(a *testkit.Answer, err error) object {
		p.t.Helper()
		if err != nil {
			p.t.Fatalf("%v\nours:\n%s\ntheirs:\n%s", err, p.ours.Stderr(), p.theirs.Stderr())
		}
		if a.Status != status {
			p.t.Fatalf("answered %d %s, want %d\nours:\n%s\ntheirs:\n%s", a.Status, a.Body, status, p.ours.Stderr(), p.theirs.Stderr())
		}
		o := object{t: p.t}
		if err := a.JSON(&o.value); err != nil {
			p.t.Fatal(err)
		}
		return o
	}
}

// at returns the value at a path of names with dots between them; nil if there is none.
func (o object) at(path string) any {
	value := o.value
	for name := range strings.SplitSeq(path, ".") {
		members, _ := value.(map[string]any)
		value = members[name]
	}
	return value
}

func (o object) text(path string) string {
	text, _ := o.at(path).(string)
	return text
}

// expect checks pairs of a path and the text that the object must have at that path.
func (o object) expect(pairs ...string) object {
	o.t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := o.text(pairs[i]); got != pairs[i+1] {
			whole, _ := json.Marshal(o.value)
			o.t.Errorf("%s is %q, want %q: %s", pairs[i], got, pairs[i+1], whole)
		}
	}
	return o
}

// list returns all rows of a list, over all of its pages.
func (p *platforms) list(c *testkit.Client, path string) (rows []object) {
	p.t.Helper()
	for cursor := ""; ; {
		page := p.want(200)(c.Get(path + cursor))
		data, _ := page.at("data").([]any)
		for _, row := range data {
			rows = append(rows, object{p.t, row})
		}
		next := page.text("cursor.cursor_value")
		if next == "" {
			return rows
		}
		cursor = "&cursor=" + url.QueryEscape(next)
	}
}

func (s *partnerPair) ourClient() *testkit.Client {
	if s.isSecond {
		return s.ours.SecondPartner()
	}
	return s.ours.Partner()
}

func (s *partnerPair) theirClient() *testkit.Client {
	if s.isSecond {
		return s.theirs.SecondPartner()
	}
	return s.theirs.Partner()
}

// params returns the member params of a request that creates a transaction with a card.
func params(kind, card, amount, txid string) map[string]any {
	storage := map[string]any{"type": "bank_card", "cardnumber": card}
	if kind == "payment" {
		storage["cardholder"], storage["exp_month"], storage["exp_year"], storage["cvv"] = "A Payer", "12", "2031", "123"
	}
	return map[string]any{"params": map[string]any{
		"type": kind, "amount": amount, "currency": "USD", "txid": txid, "returnUrl": shop + "/ok", "failUrl": shop + "/no", "money_storage": storage,
	}}
}

func (s *partnerPair) create(kind, card, amount string) object {
	s.t.Helper()
	return s.want(201)(s.ourClient().Post(transactions, params(kind, card, amount, "")))
}

func (s *partnerPair) read(id string) object {
	s.t.Helper()
	return s.want(200)(s.ourClient().Get(transactions + "/" + id))
}

// theirTransaction returns the other platform's transaction for one of ours; there must be exactly one.
func (s *partnerPair) theirTransaction(id string) object {
	s.t.Helper()
	var found []object
	for _, row := range s.list(s.theirClient(), transactions+"?limit=100") {
		if row.text("txid") == id {
			found = append(found, row)
		}
	}
	if len(found) != 1 {
		s.t.Fatalf("they have %d transactions for %s", len(found), id)
	}
	return found[0]
}

// change requests a refund or a cancellation.
func (s *partnerPair) change(id, kind, amount string) object {
	s.t.Helper()
	body := map[string]any{"type": kind}
	if amount != "" {
		body["amount"] = amount
	}
	return s.want(200)(s.ourClient().Put(transactions+"/"+id, map[string]any{"params": body}))
}

// advance moves both clocks.
func (p *platforms) advance(seconds int) {
	p.t.Helper()
	p.advanceOne(p.theirs, seconds)
	p.advanceOne(p.ours, seconds)
}

func (p *platforms) advanceOne(s *testkit.Server, seconds int) {
	p.t.Helper()
	p.want(200)(s.Admin().Put(v1+"/sandbox/clock", map[string]int{"advance_seconds": seconds}))
}

// settleAll advances the clocks until none of our transactions is in progress.
func (s *partnerPair) settleAll() {
	s.t.Helper()
	for range 60 {
		unsettled := 0
		for _, row := range s.list(s.ourClient(), transactions+"?limit=100") {
			switch row.text("status") {
			case "charged", "rejected", "failed", "reversed", "refunded":
				if row.text("refund_id") != "" && row.text("refund_msg") == "" {
					unsettled++ // the refund is not decided
				}
			default:
				unsettled++
			}
		}
		if unsettled == 0 {
			return
		}
		s.advance(10)
	}
	s.t.Fatalf("not at rest after ten minutes\n%s", s.ours.Stderr())
}

// theirBalances returns our available balances on the other platform, by asset.
func (s *partnerPair) theirBalances() map[string]*big.Int {
	s.t.Helper()
	balances := make(map[string]*big.Int)
	for _, row := range s.list(s.theirClient(), v1+"/balances?env=prod") {
		if row.text("env") == "prod" {
			balances[row.text("currency")+"/"+row.text("network")] = parseNumber(s.t, row.text("available"))
		}
	}
	return balances
}

func parseNumber(t *testing.T, text string) *big.Int {
	t.Helper()
	n, ok := new(big.Int).SetString(text, 10)
	if !ok {
		t.Fatalf("%q is no number", text)
	}
	return n
}

// wantAgreement compares our ledger with the ledger of the other platform. The amount that the platform owes us
// according to our terminals' accounts must equal the change of our balance there. Every transaction of ours
// that moved money must have exactly one counterpart there.
func (s *partnerPair) wantAgreement() {
	s.t.Helper()
	owed := make(map[string]*big.Int)
	session := s.ours.Session()
	if s.isSecond {
		session = s.ours.Anyone().With("authorization", "Bearer "+s.ours.Sandbox.Second.SessionToken, "x-organization-id", s.org)
	}
	for _, row := range s.list(session, v1+"/ledger/accounts?limit=500&env=prod&prefix=A:provider:") {
		asset := row.text("asset.currency") + "/" + row.text("asset.network")
		if owed[asset] == nil {
			owed[asset] = new(big.Int)
		}
		owed[asset].Add(owed[asset], parseNumber(s.t, row.text("balance")))
	}
	movedBits := 0
	for asset, balance := range s.theirBalances() {
		moved := new(big.Int).Sub(balance, s.openingBalances[asset])
		ourBalance := owed[asset]
		if ourBalance == nil {
			ourBalance = new(big.Int)
		}
		movedBits += moved.BitLen()
		if moved.Cmp(ourBalance) != 0 {
			s.t.Errorf("%s: our books say that they owe us %v, theirs that it is %v", asset, ourBalance, moved)
		}
	}
	if movedBits == 0 {
		s.t.Error("nothing has moved: there is nothing that could agree")
	}
	theirTransactions := make(map[string][]object)
	for _, row := range s.list(s.theirClient(), transactions+"?limit=100") {
		if row.text("merchant_meta.reversal_of") == "" {
			theirTransactions[row.text("txid")] = append(theirTransactions[row.text("txid")], row)
		}
	}
	for _, ourTransaction := range s.list(s.ourClient(), transactions+"?limit=100") {
		if ourTransaction.text("merchant_meta.reversal_of") != "" {
			continue
		}
		matches := theirTransactions[ourTransaction.text("id")]
		delete(theirTransactions, ourTransaction.text("id"))
		isUnpaid := ourTransaction.text("status") == "rejected" || ourTransaction.text("status") == "failed"
		if len(matches) > 1 || len(matches) == 0 && !isUnpaid {
			s.t.Errorf("%s of ours, %s %s, is %d of theirs", ourTransaction.text("id"), ourTransaction.text("type"), ourTransaction.text("status"), len(matches))
			continue
		}
		for _, t := range matches {
			t.expect("type", ourTransaction.text("type"), "status", ourTransaction.text("status"), "amount", ourTransaction.text("amount"), "currency", ourTransaction.text("currency"),
				"captured_amount", ourTransaction.text("captured_amount"), "refunded_amount", ourTransaction.text("refunded_amount"))
			ourTransaction.expect("merchant_meta.utp_id", t.text("id"))
		}
	}
	for txid := range theirTransactions {
		s.t.Errorf("they have a transaction %s that is none of ours", txid)
	}
}

// verify stops both servers and checks their stores.
func (p *platforms) verify() {
	p.t.Helper()
	secrets := []string{p.theirs.Sandbox.APIKey, p.theirs.Sandbox.Second.APIKey, hookSecret, "4242424242424242"}
	canaries := filepath.Join(p.t.TempDir(), "canaries")
	if err := os.WriteFile(canaries, []byte(strings.Join(secrets, "\n")+"\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
	for name, s := range map[string]*testkit.Server{"ours": p.ours, "theirs": p.theirs} {
		for _, secret := range secrets {
			if strings.Contains(s.Stderr(), secret) {
				p.t.Errorf("the log of %s has %q", name, secret)
			}
		}
		if code := s.Stop(); code != 0 {
			p.t.Errorf("%s stopped with %d\n%s", name, code, s.Stderr())
		}
		args := []string{"audit", "verify", "--data", s.Dir}
		if s == p.ours { // the other platform has its own keys in sandbox.json
			args = append(args, "--canaries", canaries)
		}
		if r := testkit.Run(p.t, nil, args...); r.Exit != 0 {
			p.t.Errorf("the books of %s do not hold: %d\n%s%s", name, r.Exit, r.Stdout, r.Stderr)
		}
	}
}

// browser returns a payer's browser, which trusts both platforms and follows no redirect by itself.
func (p *platforms) browser() *http.Client {
	p.t.Helper()
	pool := x509.NewCertPool()
	for _, s := range []*testkit.Server{p.ours, p.theirs} {
		ca, err := os.ReadFile(filepath.Join(s.Dir, "tls", "ca.pem"))
		if err != nil {
			p.t.Fatal(err)
		}
		pool.AppendCertsFromPEM(ca)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, DisableKeepAlives: true}
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// redirectTarget returns where a page sends the payer.
func (p *platforms) redirectTarget(answer *http.Response, err error) string {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	content, _ := io.ReadAll(answer.Body) // only for the failure message
	_ = answer.Body.Close()
	next, err := answer.Location()
	if err != nil {
		p.t.Fatalf("%s answered %d and sends nowhere: %s", answer.Request.URL.Path, answer.StatusCode, content)
	}
	return next.String()
}

// browse posts a form with a payer's browser and follows redirects until the browser is back in the shop. It
// returns the shop's address.
func (p *platforms) browse(address string, form url.Values) string {
	p.t.Helper()
	browser := p.browser()
	address = p.redirectTarget(browser.PostForm(address, form))
	for range 10 {
		if strings.HasPrefix(address, shop) {
			return address
		}
		address = p.redirectTarget(browser.Get(address))
	}
	p.t.Fatal("the payer goes round in circles")
	return ""
}
