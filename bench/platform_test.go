package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"mizan/bench/server"
)

// fakeService is a simple fake of the service under test. It has enough of the API for the load generator, and
// faults that a test can switch on.
type fakeService struct {
	losesResponses     bool // the fake service works correctly, but responses get lost, come late, or are 503
	losesPayments      bool // reports every tenth payment as charged and does not book it
	repeatsPayments    bool // books every tenth payment twice
	booksOneSide       bool // books every tenth payment on one side only
	readsOtherPayments bool // reads return another payment
	hidesLedgerAfter   int  // number of payments after which the ledger can't be read any more; 0: it can always be read

	createsByKey map[string]int // number of create requests by API key; nil: only the key of the sandbox's own partner is valid
	mu           sync.Mutex
	createCount  int // create requests with a valid body
	byTxid       map[string]*storedPayment
	byID         map[string]*storedPayment
	available    int // posted credits of the partners' available accounts
	provider     int // posted debits of the provider accounts
}

type storedPayment struct {
	id      string
	charged bool
}

const openingBalance = 500

// start starts the fake service and returns a data directory with its sandbox.json.
func (p *fakeService) start(t *testing.T) (baseURL, dir string) {
	t.Helper()
	p.byTxid, p.byID = make(map[string]*storedPayment), make(map[string]*storedPayment)
	p.available = openingBalance
	s := httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(s.Close)
	dir = t.TempDir()
	content, err := json.Marshal(server.Sandbox{BaseURL: s.URL, OrganizationID: "org", PartnerID: 7, APIKey: "key", AuditorToken: "auditor", AdminToken: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "sandbox.json"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	return s.URL, dir
}

func (p *fakeService) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/v1")
	var allowed bool
	switch {
	case strings.HasPrefix(path, "/ledger/"):
		allowed = r.Header.Get("Authorization") == "Bearer auditor"
	case path == "/terminals":
		allowed = r.Header.Get("Authorization") == "Bearer admin"
	default:
		allowed = p.acceptsKey(r.Header.Get("x-api-key"))
	}
	allowed = allowed && r.Header.Get("x-organization-id") == "org"
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case strings.HasPrefix(path, "/ledger/") && p.hidesLedgerAfter > 0 && len(p.byTxid) > p.hidesLedgerAfter:
		http.Error(w, "{}", http.StatusInternalServerError)
	case !allowed:
		http.Error(w, "{}", http.StatusUnauthorized)
	case r.Method == http.MethodPost && path == "/transactions":
		p.create(w, r)
	case path == "/transactions":
		if r.URL.Query().Get("limit") != "7" || p.readsOtherPayments {
			http.Error(w, `{"error":"bad_request"}`, http.StatusBadRequest)
			return
		}
		_, _ = fmt.Fprint(w, `{"data":[],"cursor":{"cursor_field":"started","cursor_value":null}}`)
	case path == "/terminals" && (p.createsByKey != nil || r.URL.Query().Get("partner_id") == "7"):
		p.writePage(w, r, `{"id":"0","type":"payment","env":"prod","provider_params":{}}`, `{"id":"1","type":"payout","env":"prod","provider_params":{"fee_fixed":"3"}}`)
	case strings.HasPrefix(path, "/transactions/"):
		p.read(w, strings.TrimPrefix(path, "/transactions/"))
	case path == "/ledger/accounts/L:partner:7:available":
		p.writeRow(w, "", p.partnerRow())
	case path == "/ledger/accounts" && r.URL.Query().Get("prefix") == "L:partner:" && p.createsByKey != nil:
		p.writePage(w, r, ledgerRow("L:partner:7:available", 0, p.available/2), ledgerRow("L:partner:7:pending", 0, 99),
			ledgerRow("L:partner:8:available", 0, p.available-p.available/2))
	case path == "/ledger/accounts" && r.URL.Query().Get("prefix") == "A:provider:":
		p.writePage(w, r, p.providerRow(0), p.providerRow(1))
	case path == "/ledger/trial-balance":
		p.writePage(w, r, p.partnerRow(), p.providerRow(0), p.providerRow(1), ledgerRow("A:bank", openingBalance, 0))
	default:
		http.NotFound(w, r)
	}
}

func (p *fakeService) acceptsKey(key string) bool {
	if p.createsByKey == nil {
		return key == "key"
	}
	_, known := p.createsByKey[key]
	return known
}

// create creates a payment, or returns the existing one with the same txid.
func (p *fakeService) create(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Params struct{ TxID, Amount, Currency, Env string }
	}
	if json.NewDecoder(r.Body).Decode(&body) != nil || body.Params.Amount != fmt.Sprint(paymentAmount) || body.Params.Env != "prod" {
		http.Error(w, "{}", http.StatusUnprocessableEntity)
		return
	}
	p.createCount++
	if p.createsByKey != nil {
		p.createsByKey[r.Header.Get("x-api-key")]++
	}
	fault := 0
	if p.losesResponses {
		fault = p.createCount % 10
	}
	switch fault {
	case 1:
		panic(http.ErrAbortHandler) // the request never arrived
	case 2:
		http.Error(w, `{"error":"unavailable"}`, http.StatusServiceUnavailable)
		return
	}
	payment := p.byTxid[body.Params.TxID]
	if payment == nil {
		payment = &storedPayment{id: fmt.Sprintf("%08x-0000-4000-8000-000000000000", len(p.byTxid))}
		p.byTxid[body.Params.TxID], p.byID[payment.id] = payment, payment
	} else if fault == 0 && !p.losesResponses {
		http.Error(w, "a txid was used twice", http.StatusInternalServerError)
		return
	}
	if !payment.charged && fault != 4 { // fault 4: the provider is slow, so the response says that the payment is under way
		payment.charged = true
		p.book(len(p.byTxid))
	}
	if fault == 3 {
		panic(http.ErrAbortHandler) // the request arrived, and its response is lost
	}
	w.WriteHeader(http.StatusCreated)
	p.writePayment(w, payment)
}

// book adds payment n to the accounts. With some faults it books every tenth payment wrongly.
func (p *fakeService) book(n int) {
	available, provider := paymentAmount, paymentAmount
	if n%10 == 0 {
		switch {
		case p.losesPayments:
			available, provider = 0, 0
		case p.repeatsPayments:
			available, provider = 2*available, 2*provider
		case p.booksOneSide:
			provider = 0
		}
	}
	p.available += available
	p.provider += provider
}

func (p *fakeService) read(w http.ResponseWriter, id string) {
	payment := p.byID[id]
	if payment == nil {
		http.Error(w, "{}", http.StatusNotFound)
		return
	}
	if p.readsOtherPayments {
		payment = &storedPayment{id: "ffffffff-0000-4000-8000-000000000000", charged: true}
	}
	p.writePayment(w, payment)
}

func (p *fakeService) writePayment(w http.ResponseWriter, payment *storedPayment) {
	status := "charging"
	if payment.charged {
		status = "charged"
	}
	_, _ = fmt.Fprintf(w, `{"id":"%s","status":"%s"}`, payment.id, status)
}

func (p *fakeService) partnerRow() string { return ledgerRow("L:partner:7:available", 0, p.available) }

// providerRow returns the list element of the provider account of terminal 0 or 1. Each has half of the total. If the total is
// odd, terminal 1 has one more.
func (p *fakeService) providerRow(terminal int) string {
	share := p.provider / 2
	if terminal == 1 {
		share = p.provider - share
	}
	return ledgerRow(fmt.Sprintf("A:provider:%d", terminal), share, 0)
}

func ledgerRow(account string, debits, credits int) string {
	return fmt.Sprintf(`{"account":%q,"asset":{"currency":"USD","network":"","env":"prod"},"debits_posted":"%d","credits_posted":"%d",`+
		`"debits_pending":"0","credits_pending":"0","balance":"0"}`, account, debits, credits)
}

// writePage writes the row to which the request's cursor points. Each page has one row, and the cursor is the row's
// index.
func (p *fakeService) writePage(w http.ResponseWriter, r *http.Request, rows ...string) {
	index := 0
	_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &index)
	next := ""
	if index+1 < len(rows) {
		next = fmt.Sprint(index + 1)
	}
	p.writeRow(w, next, rows[index])
}

func (p *fakeService) writeRow(w http.ResponseWriter, next, row string) {
	cursor := "null"
	if next != "" {
		cursor = `"` + next + `"`
	}
	_, _ = fmt.Fprintf(w, `{"data":[%s],"cursor":{"cursor_field":"account","cursor_value":%s}}`, row, cursor)
}
