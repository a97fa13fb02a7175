package serving

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mizan/internal/testkit"
)

// canaryPrefix is the beginning of every card number in these tests. A record stores only the first six digits of a card number,
// so these eight digits occur only where a longer part of a number is kept.
const canaryPrefix = "47165839"

const (
	canaryHolder = "CANARY H. OLDER"
	canaryCVV    = "739"
)

// canaryNumber returns the n-th card number: 16 digits with a valid check digit.
func canaryNumber(n int) string {
	digits := fmt.Sprintf("%s%07d", canaryPrefix, n)
	sum := 0
	for i := range digits {
		d := int(digits[i] - '0')
		if i%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return digits + strconv.Itoa((10-sum%10)%10)
}

// Numbers of test cards: the first three need an action of the payer, and the last is declined. The program contains these
// numbers too, but not in writable memory.
const (
	cardRedirect = "4000000000003220"
	cardForm     = "4000000000003063"
	cardPassword = "4000002500003155"
	cardDeclined = "4000000000000002"
)

// traces are texts that the server's memory must not contain when every transaction has ended. The three digits of a CVV may
// occur anywhere by chance, so the CVV is searched for together with the text before it in a request. Where the text before it
// is not known, the cardholder's name, which stands next to the CVV, is searched for instead.
var traces = []string{
	canaryPrefix, cardRedirect, cardForm, cardPassword, cardDeclined, canaryHolder,
	`cvv":"` + canaryCVV, `cvv": "` + canaryCVV, "cvv=" + canaryCVV, "CANARY+H.+OLDER", "122030" + canaryCVV,
	strings.ReplaceAll(canaryPrefix[:4], "4", "\\u0034"),
}

// searchMemory reads the part of a process's memory that is writable and not mapped from a file. It returns the traces of cards
// that it finds, with the bytes around them, and the number of bytes read.
func searchMemory(t *testing.T, pid int) (found []string, size int64) {
	t.Helper()
	maps, err := os.Open(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = maps.Close() }()
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = memory.Close() }()
	const pieceSize, overlap = 8 << 20, 256
	buffer := make([]byte, pieceSize)
	lines := bufio.NewScanner(maps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 || !strings.HasPrefix(fields[1], "rw") || fields[4] != "0" {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		begin, _ := strconv.ParseInt(from, 16, 64)
		end, _ := strconv.ParseInt(to, 16, 64)
		size += end - begin
		for at := begin; at < end; at += pieceSize - overlap {
			n, err := memory.ReadAt(buffer[:min(pieceSize, end-at)], at)
			if err != nil && !errors.Is(err, io.EOF) && n == 0 {
				break // the process has released the memory meanwhile
			}
			for _, trace := range traces {
				for i := 0; ; {
					k := bytes.Index(buffer[i:n], []byte(trace))
					if k < 0 {
						break
					}
					i += k
					around := buffer[max(0, i-96):min(n, i+96)]
					found = append(found, fmt.Sprintf("%q at %#x: %q", trace, at+int64(i), bytes.Trim(around, "\x00")))
					i += len(trace)
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return found, size
}

// wipeBound is the longest time that the server may take after its last response to wipe the request from memory. With a free
// CPU the server needs microseconds.
const wipeBound = 20 * time.Second

// wantNoTrace fails the test if the process's memory contains a trace of a card.
func wantNoTrace(t *testing.T, pid int, when string) {
	t.Helper()
	deadline := time.Now().Add(wipeBound)
	found, size := searchMemory(t, pid)
	for len(found) > 0 && time.Now().Before(deadline) {
		found, size = searchMemory(t, pid)
	}
	t.Logf("%s: %d MiB of memory, %d traces", when, size>>20, len(found))
	for _, hit := range found[:min(len(found), 12)] {
		t.Errorf("%s: %s", when, hit)
	}
	if len(found) > 0 {
		t.Errorf("%s: %d traces of cards in all", when, len(found))
	}
}

// payer makes requests over one keep-alive connection to the server.
type payer struct {
	t      *testing.T
	server *testkit.Server
	client *http.Client
	close  func()
}

func newPayer(t *testing.T, s *testkit.Server, tlsVersion uint16) *payer {
	// Each payer has an IP address of its own, because the server limits how many cards one address sends in a minute.
	address := payerAddresses.Add(1)
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(address>>8), byte(address))}}
	transport := &http.Transport{TLSClientConfig: trustConfig(t, s, tlsVersion), MaxConnsPerHost: 1, IdleConnTimeout: time.Hour, DialContext: dialer.DialContext}
	client := &http.Client{Transport: transport, Timeout: 3 * time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	return &payer{t: t, server: s, client: client, close: transport.CloseIdleConnections}
}

// payerAddresses is the number of payers so far.
var payerAddresses atomic.Uint32

// trustConfig returns a TLS configuration that trusts the server's certificate. If the server has no TLS, it returns nil.
func trustConfig(t *testing.T, s *testkit.Server, tlsVersion uint16) *tls.Config {
	if strings.HasPrefix(s.BaseURL, "http:") {
		return nil
	}
	content, err := os.ReadFile(filepath.Join(s.Dir, "tls", "ca.pem"))
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(content)
	return &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12, MaxVersion: tlsVersion}
}

// ask sends a request and returns the fields of the response. If the body is JSON, the request has the credentials of the first
// partner.
func (p *payer) ask(wantStatus int, method, path, contentType, body string, headers ...string) map[string]string {
	address := path
	if strings.HasPrefix(path, "/") {
		address = p.server.BaseURL + path
	}
	request, err := http.NewRequest(method, address, strings.NewReader(body))
	if err != nil {
		p.t.Error(err)
		return nil
	}
	if contentType == "application/json" {
		request.Header.Set("x-api-key", p.server.Sandbox.APIKey)
		request.Header.Set("x-organization-id", p.server.Sandbox.OrganizationID)
	}
	request.Header.Set("content-type", contentType)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := p.client.Do(request)
	if err != nil {
		p.t.Error(err)
		return nil
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != wantStatus {
		p.t.Errorf("%s %s: %v %d %s, want %d", method, path, err, response.StatusCode, content, wantStatus)
	}
	fields := map[string]string{"location": response.Header.Get("location"), "body": string(content)}
	for _, pair := range jsonText.FindAllStringSubmatch(string(content), -1) {
		if _, isKnown := fields[pair[1]]; !isKnown {
			fields[pair[1]] = strings.ReplaceAll(pair[2], `\u0026`, "&")
		}
	}
	return fields
}

var jsonText = regexp.MustCompile(`"([a-z_]+)":"([^"]*)"`)

const (
	asJSON = "application/json"
	asForm = "application/x-www-form-urlencoded"
)

// storage returns a money_storage object with a card, for a request that creates a payment.
func storage(number string) string {
	return fmt.Sprintf(`{"type":"bank_card","cardnumber":%q,"cardholder":%q,"exp_month":"12","exp_year":"2030","cvv":%q}`, number, canaryHolder, canaryCVV)
}

func createBody(kind, moreFields, storage string) string {
	return fmt.Sprintf(`{"params":{"type":%q,"amount":"1250","currency":"USD","env":"test","returnUrl":"https://shop.example/ok","failUrl":"https://shop.example/no"%s,"money_storage":%s}}`, kind, moreFields, storage)
}

func cardFormBody(number string) string {
	return url.Values{"cardnumber": {number}, "cardholder": {canaryHolder}, "exp_month": {"12"}, "exp_year": {"2030"}, "cvv": {canaryCVV}}.Encode()
}

const payments = "/api/v1/transactions"

// payInEveryWay makes every kind of request that contains a card, and brings each transaction
// to its end.
func (p *payer) payInEveryWay(n int) {
	number := canaryNumber(n)
	idempotencyKey := fmt.Sprintf("once-%d", n)
	p.wantFinal(p.ask(201, "POST", payments, asJSON, createBody("payment", "", storage(number)), "idempotency-key", idempotencyKey), "charged")
	p.wantFinal(p.ask(201, "POST", payments, asJSON, createBody("payment", "", storage(number)), "idempotency-key", idempotencyKey), "charged")
	p.wantFinal(p.ask(201, "POST", payments, asJSON, createBody("payout", "", storage(number))), "charged")
	p.wantFinal(p.ask(201, "POST", payments, asJSON, createBody("payment", `,"description":"`+strings.Repeat("long ", 380)+`","merchant_meta":{"a":"`+strings.Repeat("x", 30_000)+`"}`, storage(number))), "charged")
	escaped := strings.ReplaceAll(storage(number), "4", `\u0034`)
	p.wantFinal(p.ask(201, "POST", payments, asJSON, createBody("payment", "", escaped)), "charged")
	p.wantFinal(p.ask(201, "POST", payments, asJSON, createBody("payment", "", "  "+storage(number)+strings.Repeat(" ", 5000))), "charged")

	// The card form of the hosted page, first with a wrong number.
	hosted := p.ask(201, "POST", payments, asJSON, createBody("payment", `,"hosted":true`, "{}"))
	p.ask(422, "POST", hosted["widget_url"], asForm, cardFormBody(number[:15]+"x"))
	p.ask(422, "POST", hosted["widget_url"], asForm, "method=apple_pay&"+cardFormBody(number))
	p.ask(422, "POST", hosted["widget_url"], asForm, "total=1&"+cardFormBody(number))
	p.ask(303, "POST", hosted["widget_url"], asForm, cardFormBody(number))
	p.wantFinal(p.ask(200, "GET", payments+"/"+hosted["id"], asJSON, ""), "charged")
	hosted = p.ask(201, "POST", payments, asJSON, createBody("payment", `,"hosted":true`, "{}"))
	p.ask(303, "POST", hosted["widget_url"], asForm, "method=open_banking&"+cardFormBody(number)) // the payer has typed a card but chosen another method
	p.wantFinal(p.ask(200, "GET", payments+"/"+hosted["id"], asJSON, ""), "charged")
	hosted = p.ask(201, "POST", payments, asJSON, createBody("payment", `,"hosted":true`, "{}"))
	p.wantFinal(p.ask(200, "POST", payments+"/continue/"+hosted["id"], asJSON, `{"money_storage":`+storage(number)+`}`), "charged")

	// The server keeps what a payer typed into a form with a declined card until the next page has shown it again.
	hosted = p.ask(201, "POST", payments, asJSON, createBody("payment", `,"hosted":true`, "{}"))
	lasting := strings.TrimSuffix(p.ask(303, "POST", hosted["widget_url"], asForm, cardFormBody(cardDeclined))["location"], "&posted")
	if again := p.ask(200, "GET", lasting, asForm, ""); !strings.Contains(again["body"], canaryHolder) {
		p.t.Error("the form of a declined card does not show the cardholder's name again")
	}
	p.ask(303, "POST", lasting, asForm, "step=method-2&"+cardFormBody(number))
	p.wantFinal(p.ask(200, "GET", payments+"/"+hosted["id"], asJSON, ""), "charged")

	// Refused requests contain cards too.
	p.ask(422, "POST", payments, asJSON, createBody("payment", "", storage(number[:15]+"x")))
	p.ask(400, "POST", payments, asJSON, createBody("payment", "", storage(number))+"x")
	p.ask(401, "POST", payments, asJSON, createBody("payment", "", storage(number)), "x-api-key", "mzk_nobody's")
	p.ask(415, "POST", payments, "text/plain", createBody("payment", "", storage(number)), "x-api-key", p.server.Sandbox.APIKey, "x-organization-id", p.server.Sandbox.OrganizationID)
	p.ask(404, "POST", "/api/v1/nothing", asJSON, createBody("payment", "", storage(number)))

	// If the payer has to act, the server stores the card until the payer has acted.
	for _, card := range []string{cardRedirect, cardForm} {
		created := p.ask(201, "POST", payments, asJSON, createBody("payment", "", storage(card)))
		p.passChallenge(created["simple_auth_redirect_url"])
		p.wantFinal(p.ask(200, "GET", payments+"/"+created["id"], asJSON, ""), "charged")
	}
	response := p.ask(201, "POST", payments, asJSON, createBody("payment", "", storage(cardPassword)))
	p.wantFinal(p.ask(200, "POST", payments+"/additional_params_for_auth/"+response["id"], asJSON, `{"additional_params_for_auth":{"otp":"123456"}}`), "charged")
	hosted = p.ask(201, "POST", payments, asJSON, createBody("payment", `,"hosted":true`, "{}"))
	redirect := p.ask(303, "POST", hosted["widget_url"], asForm, cardFormBody(cardPassword))
	p.ask(303, "POST", redirect["location"], asForm, "otp=123456")
	p.wantFinal(p.ask(200, "GET", payments+"/"+hosted["id"], asJSON, ""), "charged")
}

func (p *payer) wantFinal(transaction map[string]string, status string) {
	if transaction["status"] != status {
		p.t.Errorf("%s is %q, want %q", transaction["id"], transaction["status"], status)
	}
}

var (
	formAction  = regexp.MustCompile(`<form method="post" action="([^"]+)"`)
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)
)

// passChallenge follows a payer's redirect to the simulated bank and approves the payment there.
func (p *payer) passChallenge(address string) {
	pageOutput := p.ask(303, "GET", address, asForm, "")
	page := pageOutput["body"]
	for range 4 {
		if pageOutput["location"] == "" {
			break
		}
		request, err := http.NewRequest("GET", p.absolute(pageOutput["location"]), nil)
		if err != nil {
			p.t.Error(err)
			return
		}
		response, err := p.client.Do(request)
		if err != nil {
			p.t.Error(err)
			return
		}
		content, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		page, pageOutput = string(content), map[string]string{"location": response.Header.Get("location")}
	}
	for range 2 { // the redirect first leads to a page whose form leads to the page with the buttons
		action := formAction.FindStringSubmatch(page)
		if action == nil {
			p.t.Errorf("no form in %s", page)
			return
		}
		fields := url.Values{}
		for _, f := range hiddenField.FindAllStringSubmatch(page, -1) {
			fields.Set(html.UnescapeString(f[1]), html.UnescapeString(f[2]))
		}
		if strings.Contains(page, "approve") {
			fields.Set("decision", "approve")
			p.ask(303, "POST", html.UnescapeString(action[1]), asForm, fields.Encode())
			return
		}
		page = p.ask(200, "POST", html.UnescapeString(action[1]), asForm, fields.Encode())["body"]
	}
}

func (p *payer) absolute(location string) string {
	if strings.HasPrefix(location, "/") {
		return p.server.BaseURL + location
	}
	return location
}

// openRaw returns a connection to which a test can write any bytes.
func (p *payer) openRaw(tlsVersion uint16) net.Conn {
	_, address, _ := strings.Cut(p.server.BaseURL, "://")
	c, err := net.Dial("tcp", address)
	if err != nil {
		p.t.Fatal(err)
	}
	if config := trustConfig(p.t, p.server, tlsVersion); config != nil {
		config.ServerName, _, _ = net.SplitHostPort(address)
		return tls.Client(c, config)
	}
	return c
}

// request returns the bytes of a request that creates a transaction. The headers in moreHeaders end with a newline.
func (p *payer) request(body string, isChunked bool, moreHeaders string) string {
	head := "POST " + payments + " HTTP/1.1\r\nHost: shop\r\nContent-Type: application/json\r\nX-Api-Key: " + p.server.Sandbox.APIKey +
		"\r\nX-Organization-Id: " + p.server.Sandbox.OrganizationID + "\r\n" + moreHeaders
	if !isChunked {
		return head + fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	head += "Transfer-Encoding: chunked\r\n\r\n"
	for len(body) > 0 {
		n := min(len(body), 100)
		head += fmt.Sprintf("%x\r\n%s\r\n", n, body[:n])
		body = body[n:]
	}
	return head + "0\r\n\r\n"
}

// sendRaw writes text to the connection. It reads as many responses as there are statuses and checks the statuses.
func (p *payer) sendRaw(c net.Conn, text string, statuses ...int) {
	if _, err := io.WriteString(c, text); err != nil {
		p.t.Error(err)
		return
	}
	answers := bufio.NewReader(c)
	for _, want := range statuses {
		response, err := http.ReadResponse(answers, nil)
		if err != nil {
			p.t.Error(err)
			return
		}
		content, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != want {
			p.t.Errorf("%v %d %s, want %d", err, response.StatusCode, content, want)
		}
	}
}

// sendUnusualRequests sends the n-th card in ways that clients seldom use; it returns the connections
// that are left open.
func (p *payer) sendUnusualRequests(n int, tlsVersion uint16) (openConnections []net.Conn) {
	body := createBody("payment", "", storage(canaryNumber(n)))
	big := createBody("payment", `,"merchant_meta":{"a":"`+strings.Repeat("y", 20_000)+`"}`, storage(canaryNumber(n)))
	cardFirst := fmt.Sprintf(`{"params":{"money_storage":%s,"type":"payment","amount":"1250","currency":"USD","env":"test","returnUrl":"https://shop.example/ok","failUrl":"https://shop.example/no","merchant_meta":{"a":"%s"}}}`,
		storage(canaryNumber(n)), strings.Repeat("z", 20_000))
	sendAndKeep := func(text string, statuses ...int) {
		c := p.openRaw(tlsVersion)
		p.sendRaw(c, text, statuses...)
		openConnections = append(openConnections, c)
	}
	sendAndKeep(p.request(cardFirst, false, ""), 201)
	sendAndKeep(p.request(body, true, ""), 201)
	sendAndKeep(p.request(big, true, ""), 201)
	sendAndKeep(p.request(body, false, "")+p.request(body, false, "")+p.request(body, true, ""), 201, 201, 201)
	sendAndKeep(p.request(big, false, "")+p.request(big, false, ""), 201, 201)
	sendAndKeep(p.request(body, false, "Connection: close\r\n"), 201)
	sendAndKeep(p.request(body, false, "Content-Encoding: gzip\r\n"), 415)
	sendAndKeep(p.request(body, false, "Content-Length: 1\r\n"), 400)
	sendAndKeep(p.request(body+strings.Repeat(" ", 2<<20), false, ""), 413)

	// The client closes the connection after it has sent a part of the body.
	for _, text := range []string{p.request(body, false, ""), p.request(body+strings.Repeat(" ", 20_000), false, ""), p.request(body, true, "")} {
		c := p.openRaw(tlsVersion)
		if _, err := io.WriteString(c, text[:strings.Index(text, canaryCVV)+4]); err != nil {
			p.t.Error(err)
		}
		_ = c.Close()
	}
	return openConnections
}

// When all transactions have ended, the server's memory contains no card number and no CVV. The test searches the memory while
// the connections are open and have buffers, and again after they are closed.
func TestMemoryHoldsNoCardOfAFinalTransaction(t *testing.T) {
	testkit.NotUnderRace(t, reasonReadsMemory)
	if os.Geteuid() != 0 {
		t.Skip("skipped: reading another process's memory needs root")
	}
	for name, flags := range map[string][]string{"with TLS": nil, "without TLS": {"--tls", "off"}} {
		t.Run(name, func(t *testing.T) {
			searchAfterPayments(t, testkit.Start(t, testkit.Options{Env: withoutGC, Flags: flags}), nil)
		})
	}
	t.Run("with a simulator in a process of its own", func(t *testing.T) {
		simulator := testkit.StartSimulator(t, append(withoutGC, "GODEBUG=asyncpreemptoff=1")) // as a server sets it for itself
		server := testkit.Start(t, testkit.Options{Env: withoutGC, Flags: []string{"--simulator-url", simulator.URL}})
		simulator.Stop()
		simulator.Restart("--base-url", server.BaseURL) // the challenge pages are at the server, whose address is known only now
		searchAfterPayments(t, server, simulator)
	})
}

// screenEveryCard adds block list entries and limits, so that every card is screened.
func screenEveryCard(t *testing.T, s *testkit.Server) {
	t.Helper()
	admin := s.Admin().With("x-organization-id", s.Sandbox.OrganizationID, "idempotency-key", "block")
	blocked := fmt.Sprintf(`{"kind":"card","value":%q}`, canaryNumber(999_999))
	for _, body := range []string{blocked, blocked, `{"kind":"bin","value":"539999"}`, fmt.Sprintf(`{"kind":"card","value":%q}`, canaryNumber(999_998)+"0")} {
		admin.Post("/api/v1/blocklist", body)
		admin = s.Admin().With("x-organization-id", s.Sandbox.OrganizationID)
	}
	a, err := admin.Post("/api/v1/limits", fmt.Sprintf(`{"partner_id":%d,"kind":"velocity","env":"test","currency":"USD","max_count":100000,"window":"hour","scope":"card"}`, s.Sandbox.PartnerID))
	if err != nil || a.Status != 201 {
		t.Fatalf("%v %d %s", err, a.Status, a.Body)
	}
	if a, err := admin.Get("/api/v1/blocklist"); err != nil || strings.Count(string(a.Body), `"kind":`) != 2 {
		t.Fatalf("%v %s", err, a.Body)
	}
}

// withoutGC is the environment of a server that never collects garbage, so that card data in garbage is not overwritten by
// chance.
var withoutGC = []string{"GOGC=off", "GOMEMLIMIT=6GiB"}

// searchAfterPayments makes payments and searches the memory of the server and, if it is not nil, of the simulator.
func searchAfterPayments(t *testing.T, server *testkit.Server, simulator *testkit.Simulator) {
	screenEveryCard(t, server)
	var payers []*payer
	var openConnections []net.Conn
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 16 {
		tlsVersion := uint16(tls.VersionTLS12 + i%2)
		p := newPayer(t, server, tlsVersion)
		payers = append(payers, p)
		wg.Go(func() {
			connections := p.sendUnusualRequests(1000*i+999, tlsVersion)
			for k := range 3 {
				p.payInEveryWay(1000*i + k)
				p.sendToOtherForms(1000*i + k)
			}
			mu.Lock()
			openConnections = append(openConnections, connections...)
			mu.Unlock()
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	wantNoTrace(t, server.PID(), "connections are open")
	if simulator != nil {
		wantNoTrace(t, simulator.PID(), "the simulator, connections are open")
	}
	for _, p := range payers {
		p.close()
	}
	for _, c := range openConnections {
		_ = c.Close()
	}
	if _, err := server.Anyone().Get("/api/v1/health"); err != nil {
		t.Fatal(err)
	}
	wantNoTrace(t, server.PID(), "connections are closed")
}

// A server can send a payment to another server of this program as its provider. Cards are sent with TLS and without, in short
// and in long requests. Afterwards neither server's memory has a trace of the cards.
func TestMemoryHoldsNoCardSentToAnotherPlatform(t *testing.T) {
	testkit.NotUnderRace(t, reasonReadsMemory)
	if os.Geteuid() != 0 {
		t.Skip("skipped: reading another process's memory needs root")
	}
	for name, flags := range map[string][]string{"with TLS": nil, "without TLS": {"--tls", "off"}} {
		t.Run(name, func(t *testing.T) {
			remoteServer := testkit.Start(t, testkit.Options{Env: withoutGC, Flags: flags})
			localServer := testkit.Start(t, testkit.Options{Env: withoutGC})
			connectServers(t, localServer, remoteServer)
			var wg sync.WaitGroup
			for i := range 8 {
				p := newPayer(t, localServer, tls.VersionTLS13)
				wg.Go(func() {
					for k := range 6 {
						moreFields := ""
						if k%2 == 1 {
							moreFields = `,"description":"` + strings.Repeat("long ", 300) + `"`
						}
						p.wantFinal(p.ask(201, "POST", payments, asJSON, createBody("payment", moreFields, storage(canaryNumber(1000*i+k)))), "charged")
						p.wantFinal(p.ask(201, "POST", payments, asJSON, createBody("payout", moreFields, storage(canaryNumber(1000*i+k)))), "charged")
					}
				})
			}
			wg.Wait()
			if t.Failed() {
				t.FailNow()
			}
			wantNoTrace(t, localServer.PID(), "sent on, connections are open")
			wantNoTrace(t, remoteServer.PID(), "received, connections are open")
			remoteServer.Stop()
			wantNoTrace(t, localServer.PID(), "connections are closed")
		})
	}
}

// connectServers creates terminals for the first partner of localServer. The provider of these terminals is remoteServer.
func connectServers(t *testing.T, localServer, remoteServer *testkit.Server) {
	t.Helper()
	params := map[string]any{"base_url": remoteServer.BaseURL, "organization_id": remoteServer.Sandbox.OrganizationID, "api_key": remoteServer.Sandbox.APIKey, "priority": -1}
	if strings.HasPrefix(remoteServer.BaseURL, "https:") {
		ca, err := os.ReadFile(filepath.Join(remoteServer.Dir, "tls", "ca.pem"))
		if err != nil {
			t.Fatal(err)
		}
		params["ca_pem"] = string(ca)
	}
	for _, kind := range []string{"payment", "payout"} {
		a, err := localServer.Admin().With("x-organization-id", localServer.Sandbox.OrganizationID).Post("/api/v1/terminal", map[string]any{
			"name": "far", "partner_id": localServer.Sandbox.PartnerID, "provider": "utp", "type": kind, "env": "test", "provider_params": params,
		})
		if err != nil || a.Status != 201 {
			t.Fatalf("%v %d %s", err, a.Status, a.Body)
		}
	}
}
