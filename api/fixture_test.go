package api_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mizan/actors"
	"mizan/actors/account"
	contractactor "mizan/actors/contract"
	directoryactor "mizan/actors/directory"
	"mizan/actors/follower"
	"mizan/actors/notifier"
	paymentactor "mizan/actors/payment"
	periodactor "mizan/actors/period"
	"mizan/actors/provider/simulator"
	reconciliationactor "mizan/actors/reconciliation"
	searchactor "mizan/actors/search"
	storefrontactor "mizan/actors/storefront"
	subscriptionactor "mizan/actors/subscription"
	turnoveractor "mizan/actors/turnover"
	"mizan/api"
	"mizan/api/admin"
	"mizan/api/contracts"
	"mizan/api/description"
	"mizan/api/description/descriptiontest"
	ledgerapi "mizan/api/ledger"
	"mizan/api/payments"
	"mizan/api/web"
	"mizan/api/web/payerpage"
	"mizan/internal/testkit"
	"mizan/ledger"
	"mizan/posting"
)

// began is the time at which every fixture's clock starts.
var began = time.Date(2026, 9, 3, 10, 15, 30, 123456000, time.UTC)

// The compiler checks here that the production types implement the server's interfaces.
var (
	_ payments.Transactions = (*paymentactor.Service)(nil)
	_ api.Directory         = (*directoryactor.Service)(nil)
	_ web.Journal           = (*posting.Journal)(nil)

	_ payments.Subscriptions = (*subscriptionactor.Service)(nil)

	_ payments.Turnover = (*turnoveractor.Counter)(nil)

	_ admin.Deliveries = (*notifier.Service)(nil)

	_ contracts.Service = (*contractactor.Service)(nil)

	_ ledgerapi.Periods = (*periodactor.Service)(nil)
)

// fixture is a server on a loopback port with the real journal, actors, directory and
// simulator (a provider), seeded as a sandbox.
type fixture struct {
	*testkit.World
	t           testing.TB
	directory   *directoryactor.Service
	accounts    *account.Service
	payments    *paymentactor.Service
	renewals    *subscriptionactor.Service
	contracts   *contractactor.Service
	periods     *periodactor.Service
	notifier    *notifier.Service
	follower    *follower.Follower     // reads the journal only when a test or a request of turnover makes it
	lastCheck   *ledgerapi.CheckResult // the result that GET /ledger/check returns
	seed        *directoryactor.Sandbox
	server      *api.Server
	address     string
	lineSources map[string]actors.LineSource // by the name of the terminal's provider
	cluster     *fixtureCluster
	log         *testkit.Output
	observed    chan string // "route method status" of each response; if the channel is full, further ones are dropped
	stopServer  func()      // stops the server
	stopBackend func()      // stops the actors, the simulator and the notifier, and closes the store; called after stopServer
}

// newFixture starts a server. Each change may alter the server's configuration.
func newFixture(t testing.TB, change ...func(*api.Config)) *fixture {
	t.Helper()
	sandbox.once.Do(func() { sandbox.fill(t) })
	if sandbox.image == nil {
		t.Fatal("the sandbox could not be seeded")
	}
	seed := *sandbox.seed // a copy, because a test may replace a token
	f := &fixture{World: sandbox.image.World(t), t: t, log: new(testkit.Output), seed: &seed, observed: make(chan string, 1024)}
	f.start(change...)
	return f
}

// sandbox is the store with which every server of these tests begins. It is made only once, because
// hashing a sandbox's password and storing the sandbox takes longer than most tests.
var sandbox sandboxImage

type sandboxImage struct {
	once  sync.Once
	seed  *directoryactor.Sandbox
	image *testkit.Image
}

func (s *sandboxImage) fill(t testing.TB) {
	w := testkit.NewWorld(t, began)
	w.Open()
	directory, err := directoryactor.Start(w.Runtime, w.Keyring)
	must(t, err)
	w.Runtime.Start(func(posting.DueItem) bool { return false })
	s.seed, err = directory.Seed(t.Context(), directoryactor.SeedInput{})
	must(t, err)
	// The first use of an API key is stored as an event. Here it happens before any test counts events.
	for _, demo := range []directoryactor.SandboxOrganization{s.seed.First, s.seed.Second} {
		directory.Authenticate(demo.Org, []byte(demo.APIKey))
	}
	w.Runtime.Quiesce()
	w.Close()
	s.image = w.Image()
}

// restart stops the server, the actors and the store, and starts them again.
func (f *fixture) restart() {
	f.t.Helper()
	f.stopServer()
	f.stopBackend()
	f.start()
}

func (f *fixture) start(change ...func(*api.Config)) {
	t := f.t
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	f.address = listener.Addr().String()
	runtime, simulated := f.openStorage()
	if f.cluster == nil {
		f.cluster = newFixtureCluster(f)
	}
	cfg := api.Config{
		Payments: f.payments, Directory: f.directory, Journal: f.Journal, Clock: f.Clock,
		Log: slog.New(slog.NewTextHandler(f.log, nil)), BeginCommand: runtime.Enter, Advance: runtime.Advance,
		Signer: f.Keyring.Signer(), HeadKey: f.Keyring.VerifierKey(), Fingerprint: f.Keyring.Fingerprint,
		Pages: f.pages(), Payers: f.payments, UsageReader: f.accounts, Challenges: simulated, ProviderUpdates: f.payments, Subscriptions: f.renewals, Turnover: turnoveractor.New(f.follower, 0), Finder: searchactor.New(f.follower, 0),
		Storefront: storefrontactor.New(f.Journal, f.directory, f.base()), Deliveries: f.notifier, Contracts: f.contracts, Periods: f.periods, LastCheck: func() (*ledgerapi.CheckResult, error) { return f.lastCheck, nil }, Backup: f.backups(),
		Reconciliation: reconciliationactor.New(reconciliationactor.Config{Journal: f.Journal, Writer: f.directory, Clock: f.Clock, Sources: f.lineSources}),
		Front:          f.cluster.front(), Circuits: f.payments, System: func() (admin.System, error) {
			return admin.System{Version: "v0.0.0-test", Env: "sandbox", Status: "ok", Started: web.Instant(ledger.MicrosOf(began)), Backlogs: []admin.Backlog{}}, nil
		},
		Status:  func() api.Status { return api.Status{Core: "ok", DB: "ok"} },
		Version: "v0.0.0-test", Env: "sandbox", Domain: "127.0.0.1",
		Observe: func(e api.Exchange) {
			select {
			case f.observed <- fmt.Sprint(e.Route, " ", e.Method, " ", e.Status):
			default:
			}
		},
	}
	described.once.Do(func() {
		described.content = description.AppendJSON(nil, api.DocumentOf(cfg).Object())
		described.checker, err = descriptiontest.New(described.content)
		must(t, err)
	})
	for _, c := range change {
		c(&cfg)
	}
	f.serve(cfg, listener)
}

// openStorage opens what the server needs: the journal, the actors, the directory and the provider.
func (f *fixture) openStorage() (*actors.Runtime, *simulator.Simulator) {
	t := f.t
	t.Helper()
	var err error
	func() {
		programStart.Lock() // while another test starts a program, the program's process may hold a copy of the store's lock
		defer programStart.Unlock()
		f.Open()
	}()
	simulated, err := simulator.Open(simulator.Options{
		Path: filepath.Join(f.Dir, "simulator.log"), Clock: f.Clock, BaseURL: f.base(), Key: f.Keyring.Derive("simulator challenge"),
	})
	must(t, err)
	runtime := f.Runtime
	f.directory, err = directoryactor.Start(runtime, f.Keyring)
	must(t, err)
	f.accounts = account.New(runtime)
	f.payments = paymentactor.New(paymentactor.Options{
		Runtime: runtime, Directory: f.directory, Admission: f.accounts, Sealer: f.Keyring, Addresses: f.directory,
		Providers:  map[string]actors.Provider{simulated.Name(): simulated},
		CreateWait: patience, ProviderTimeout: 10 * time.Second, ActionTTL: actionTTL, ReturnURL: f.pages().Return,
	})
	f.accounts.SetHistory(f.payments.Attempts)
	f.renewals = subscriptionactor.New(subscriptionactor.Options{Runtime: runtime, Payments: f.payments, Directory: f.directory})
	f.contracts = contractactor.New(runtime)
	f.periods = periodactor.New(runtime)
	f.follower = follower.New(runtime)
	f.notifier, err = notifier.New(notifier.Options{
		Runtime: runtime, Addresses: f.directory, Writers: map[ledger.Kind]actors.NotificationWriter{ledger.Transaction: f.payments}, AllowPrivate: true,
	})
	must(t, err)
	runtime.Start(paymentactor.ResumesAtStart)
	f.notifier.Resume()
	f.stopBackend = sync.OnceFunc(func() {
		f.notifier.Close()
		f.Close()
		must(t, simulated.Close())
	})
	t.Cleanup(f.stopBackend)
	return runtime, simulated
}

// actionTTL is how long a payer may take to do what a provider asks, such as confirming a payment.
const actionTTL = 30 * time.Minute

// base returns the prefix of the server's URLs.
func (f *fixture) base() string { return "http://" + f.address }

func (f *fixture) pages() payerpage.Pages {
	return payerpage.Pages{Base: f.base(), Tokens: f.Keyring.PageTokens()}
}

func (f *fixture) serve(cfg api.Config, listener net.Listener) {
	f.t.Helper()
	server := api.New(cfg)
	f.server = server
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	f.stopServer = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		must(f.t, server.Shutdown(ctx))
		must(f.t, <-ended)
	})
	f.t.Cleanup(f.stopServer)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// caller is a client of the API, which sends its headers with each request.
type caller struct {
	fixture *fixture
	headers map[string]string
}

// response is an HTTP response, read to its end.
type response struct {
	t      testing.TB
	status int
	header http.Header
	body   string
	closes bool // the server closes the connection
}

// anyone returns a caller without credentials.
func (f *fixture) anyone() caller { return caller{f, map[string]string{}} }

// partner and second return callers with an API key of the first and of the second organization's partner.
func (f *fixture) partner() caller { return f.callerWithAPIKey(&f.seed.First) }
func (f *fixture) second() caller  { return f.callerWithAPIKey(&f.seed.Second) }

func (f *fixture) callerWithAPIKey(d *directoryactor.SandboxOrganization) caller {
	return f.anyone().with("x-api-key", string(d.APIKey), "x-organization-id", d.Org.String())
}

// admin returns a caller with the administration token, which operators have.
func (f *fixture) admin() caller {
	return f.bearer(string(f.seed.AdminToken), f.seed.First.Org)
}

// session returns a caller with a session of the first organization's administrator.
func (f *fixture) session() caller {
	return f.bearer(string(f.seed.First.SessionToken), f.seed.First.Org)
}

// auditor returns a caller with a session of the first organization's auditor.
func (f *fixture) auditor() caller {
	return f.bearer(string(f.seed.First.AuditorToken), f.seed.First.Org)
}

func (f *fixture) bearer(token string, org ledger.ID) caller {
	return f.anyone().with("authorization", "Bearer "+token, "x-organization-id", org.String())
}

// with returns a copy of the caller with further or changed headers, given as name, value pairs. A header with an empty
// value is not sent.
func (c caller) with(pairs ...string) caller {
	headers := make(map[string]string, len(c.headers))
	for name, value := range c.headers {
		headers[name] = value
	}
	for i := 0; i < len(pairs); i += 2 {
		headers[pairs[i]] = pairs[i+1]
	}
	return caller{c.fixture, headers}
}

// transport sends the tests' requests, and checks each request and its response against the description of the API.
var transport = &descriptiontest.Transport{Base: plainTransport, Checker: func() *descriptiontest.Checker { return described.checker }}

// plainTransport sends requests without checking them.
var plainTransport = &http.Transport{MaxIdleConnsPerHost: 64}

// described is the description of a server with all routes.
var described struct {
	once    sync.Once
	content []byte // the document in JSON
	checker *descriptiontest.Checker
}

func (c caller) do(method, path, body string) *response {
	t := c.fixture.t
	t.Helper()
	var requestBody io.Reader
	if body != "" {
		requestBody = strings.NewReader(body)
	}
	request, err := http.NewRequest(method, "http://"+c.fixture.address+path, requestBody)
	must(t, err)
	if body != "" {
		request.Header.Set("content-type", "application/json")
	}
	for name, value := range c.headers {
		if value == "" {
			request.Header.Del(name)
		} else {
			request.Header.Set(name, value)
		}
	}
	trip := transport.RoundTrip
	if strings.HasPrefix(path, "/console") {
		trip = plainTransport.RoundTrip // the description of the API does not contain the console
	}
	httpResponse, err := trip(request)
	must(t, err)
	defer func() { _ = httpResponse.Body.Close() }()
	responseBody, err := io.ReadAll(httpResponse.Body)
	must(t, err)
	r := &response{t: t, status: httpResponse.StatusCode, header: httpResponse.Header, body: string(responseBody), closes: httpResponse.Close}
	r.wantPolicy(method+" "+path, strings.HasPrefix(path, "/simulator/challenge") && r.status == 200)
	return r
}

// wantPolicy checks the response's content security policy. The policy must let a browser load only allowed resources. It must
// let other sites show the response in a frame only if mayBeFramed is true.
func (r *response) wantPolicy(request string, mayBeFramed bool) {
	r.t.Helper()
	policies, frameOptions := r.header.Values("Content-Security-Policy"), strings.Join(r.header.Values("X-Frame-Options"), "|")
	if len(policies) != 1 || !strings.HasPrefix(policies[0], "default-src 'none'; ") || !strings.Contains(policies[0], "base-uri 'none'") || !strings.Contains(policies[0], "form-action ") {
		r.t.Errorf("%s: %d with the policies %q", request, r.status, policies)
		return
	}
	if inPolicy := strings.Contains(policies[0], "frame-ancestors 'none'"); inPolicy == mayBeFramed || (frameOptions == "DENY") == mayBeFramed {
		r.t.Errorf("%s: %d with the policy %q and X-Frame-Options %q", request, r.status, policies, frameOptions)
	}
}

func (c caller) get(path string) *response { c.fixture.t.Helper(); return c.do("GET", path, "") }
func (c caller) post(path, body string) *response {
	c.fixture.t.Helper()
	return c.do("POST", path, body)
}
func (c caller) patch(path, body string) *response {
	c.fixture.t.Helper()
	return c.do("PATCH", path, body)
}

// want checks the status and, unless body is empty, the body. It returns the response.
func (r *response) want(status int, body string) *response {
	r.t.Helper()
	if r.status != status || body != "" && r.body != body {
		r.t.Errorf("responded %d %s, want %d %s", r.status, r.body, status, body)
	}
	return r
}

// object returns the body as JSON.
func (r *response) object() map[string]any {
	r.t.Helper()
	var o map[string]any
	if err := json.Unmarshal([]byte(r.body), &o); err != nil {
		r.t.Fatalf("%d %q: %v", r.status, r.body, err)
	}
	return o
}

// at returns the value at a path of names and indexes, for example "data.0.id", as a text. For a null the text is "null";
// if there is no value, it is "(absent)".
func (r *response) at(path string) string {
	r.t.Helper()
	var value any = r.object()
	for _, name := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			next, found := v[name]
			if !found {
				return "(absent)"
			}
			value = next
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(v) {
				return "(absent)"
			}
			value = v[i]
		default:
			return "(absent)"
		}
	}
	switch v := value.(type) {
	case string:
		return v
	case float64:
		return fmt.Sprintf("%.0f", v)
	case nil:
		return "null"
	}
	text, err := json.Marshal(value)
	must(r.t, err)
	return string(text)
}

// rows returns how many elements the list "data" in the response has.
func (r *response) rows() int {
	r.t.Helper()
	data, _ := r.object()["data"].([]any)
	return len(data)
}

const goodCard = `"money_storage":{"type":"bank_card","cardnumber":"4242424242424242","cardholder":"JOHN DOE","exp_month":"12","exp_year":"2030","cvv":"123"}`

const urls = `"returnUrl":"https://shop.example/ok","failUrl":"https://shop.example/no"`

// paymentBody returns the body of a create request for a card payment. It begins with the given fields.
func paymentBody(fields string) string {
	return `{"params":{` + fields + `,"type":"payment","env":"test",` + urls + `,` + goodCard + `}}`
}

// blockedCreates is a payment service whose Create sends to the channel arrived, and continues once the channel release is
// closed.
type blockedCreates struct {
	payments.Transactions
	arrived, release chan struct{}
}

// Create implements payments.Transactions.
func (g blockedCreates) Create(c paymentactor.Create) (paymentactor.Result, error) {
	g.arrived <- struct{}{}
	<-g.release
	return g.Transactions.Create(c)
}

// selfSigned returns a self-signed certificate.
func selfSigned(t testing.TB) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
