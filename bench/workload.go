package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"

	"mizan/bench/server"
)

const (
	paymentAmount   = 1_000 // minor units
	paymentCurrency = "USD"

	// maxUnresolved bounds the number of payments whose outcome is looked up after a run. maxIDs
	// bounds the number of ids from which the read workload chooses.
	maxUnresolved = 20_000
	maxIDs        = 4_000_000

	idSize = len("00000000-0000-0000-0000-000000000000")
)

// requestHead returns the head of an HTTP request, which ends before the body.
func requestHead(method, path, host string, s *server.Sandbox, bodyLength int) []byte {
	var b bytes.Buffer
	_, _ = fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nx-api-key: %s\r\nx-organization-id: %s\r\n", method, path, host, s.APIKey, s.OrganizationID)
	if bodyLength > 0 {
		_, _ = fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", bodyLength)
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// numberPlaceholder is the placeholder for a payment's number: hexadecimal digits of fixed length.
const numberPlaceholder = "################"

// paymentRequest returns the request that creates a payment, with a txid that ends in numberPlaceholder. runID is
// unique to the run.
func paymentRequest(host, runID string, s *server.Sandbox) []byte {
	body := `{"params":{"type":"payment","amount":"` + strconv.Itoa(paymentAmount) + `","currency":"` + paymentCurrency +
		`","env":"prod","txid":"bench-` + runID + `-` + numberPlaceholder +
		`","returnUrl":"https://shop.example/paid","failUrl":"https://shop.example/failed","money_storage":{"type":"bank_card",` +
		`"cardnumber":"4242424242424242","cardholder":"BENCH MARK","exp_month":"12","exp_year":"2040","cvv":"123"}}}`
	return append(requestHead("POST", "/api/v1/transactions", host, s, len(body)), body...)
}

// payments is the workload that creates payments, each with its own txid. It records the payments whose outcome is
// unknown.
type payments struct {
	template []byte // the request
	numberAt int    // position of the payment's number in template
	keys     []byte // the payments' API keys in turn, keySize bytes each; empty: all use the template's key
	keySize  int
	keyAt    int  // position of the API key in template
	keepIDs  bool // for the read workload

	mu                sync.Mutex
	chargedCount      uint64
	unresolved        []uint64 // numbers of payments with unknown outcome
	tooManyUnresolved bool     // there were more such payments than maxUnresolved
	ids               []byte   // ids of charged payments, idSize bytes each
}

func newPayments(host, runID string, s *server.Sandbox, keepIDs bool) *payments {
	p := &payments{template: paymentRequest(host, runID, s), keepIDs: keepIDs}
	p.numberAt = bytes.Index(p.template, []byte(numberPlaceholder))
	const keyHeader = "x-api-key: "
	p.keyAt = bytes.Index(p.template, []byte(keyHeader)) + len(keyHeader)
	return p
}

// useKeys makes the payments use all given keys in turn. The keys must be as long as the sandbox's own
// key.
func (p *payments) useKeys(keys []string, s *server.Sandbox) error {
	p.keySize = len(s.APIKey)
	p.keys = make([]byte, 0, len(keys)*p.keySize)
	for _, key := range keys {
		if len(key) != p.keySize {
			return fmt.Errorf("bench: a key of %d bytes in %s", len(key), merchantsFile)
		}
		p.keys = append(p.keys, key...)
	}
	return nil
}

// paymentJob makes the requests of payments on one connection.
type paymentJob struct {
	*payments
	requestBytes []byte
}

func (p *payments) job() job { return &paymentJob{p, bytes.Clone(p.template)} }

// request implements job.
func (p *paymentJob) request(n uint64) []byte {
	const digits = "0123456789abcdef"
	if len(p.keys) > 0 {
		i := int(n%uint64(len(p.keys)/p.keySize)) * p.keySize
		copy(p.requestBytes[p.keyAt:], p.keys[i:i+p.keySize])
	}
	for i := p.numberAt + len(numberPlaceholder) - 1; i >= p.numberAt; i-- {
		p.requestBytes[i] = digits[n&15]
		n >>= 4
	}
	return p.requestBytes
}

var statusCharged = []byte(`"status":"charged"`)

// check implements job. The server responds to a create with 201, whatever the payment's status is. A 4xx or 503
// response means that nothing is stored.
func (p *paymentJob) check(n uint64, a *response) string {
	if a.status == 201 && bytes.Contains(a.body, statusCharged) {
		p.recordCharged(a)
		return ""
	}
	if a.status != 201 {
		if a.status >= 500 && a.status != 503 {
			p.onLost(n)
		}
		return "HTTP " + strconv.Itoa(a.status)
	}
	status := string(memberValue(a.body, `"status":`))
	if !neverCharged(status) {
		p.onLost(n)
	}
	return "status " + status
}

// neverCharged tells whether a payment with this status will never be charged.
func neverCharged(status string) bool { return status == "rejected" || status == "failed" }

func (p *payments) recordCharged(a *response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.chargedCount++
	if p.keepIDs && len(p.ids) < maxIDs*idSize {
		if id := memberValue(a.body, `"id":`); len(id) == idSize {
			p.ids = append(p.ids, id...)
		}
	}
}

// onLost implements job.
func (p *payments) onLost(n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.unresolved) == maxUnresolved {
		p.tooManyUnresolved = true
		return
	}
	p.unresolved = append(p.unresolved, n)
}

// readWorkload is the workload that GETs random payments.
type readWorkload struct {
	template []byte
	idAt     int    // position of the payment's id in template
	ids      []byte // ids of the payments, idSize bytes each
}

func newReadWorkload(host string, s *server.Sandbox, ids []byte) *readWorkload {
	const path = "/api/v1/transactions/"
	head := requestHead("GET", path+string(ids[:idSize]), host, s, 0)
	return &readWorkload{template: head, idAt: len("GET " + path), ids: ids}
}

// readJob makes the requests of readWorkload on one connection.
type readJob struct {
	*readWorkload
	requestBytes []byte
	random       *rand.Rand
}

func (r *readWorkload) job() job {
	return &readJob{r, bytes.Clone(r.template), rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))}
}

// request implements job.
func (r *readJob) request(uint64) []byte {
	i := r.random.IntN(len(r.ids)/idSize) * idSize
	copy(r.requestBytes[r.idAt:r.idAt+idSize], r.ids[i:i+idSize])
	return r.requestBytes
}

// check implements job: the response must be the requested payment, charged.
func (r *readJob) check(_ uint64, a *response) string {
	switch {
	case a.status != 200:
		return "HTTP " + strconv.Itoa(a.status)
	case !bytes.Equal(memberValue(a.body, `"id":`), r.requestBytes[r.idAt:r.idAt+idSize]):
		return "another payment"
	case !bytes.Contains(a.body, statusCharged):
		return "status " + string(memberValue(a.body, `"status":`))
	}
	return ""
}

// onLost implements job: a read changes nothing.
func (r *readJob) onLost(uint64) {}

// listWorkload is the workload that always GETs the same page of the list of transactions.
type listWorkload struct{ requestBytes []byte }

func newListWorkload(host, query string, s *server.Sandbox) *listWorkload {
	return &listWorkload{requestHead("GET", "/api/v1/transactions?"+query, host, s, 0)}
}

func (l *listWorkload) job() job { return l }

// request implements job.
func (l *listWorkload) request(uint64) []byte { return l.requestBytes }

var cursorKey = []byte(`"cursor":{`)

// check implements job: the response must be a page, with any number of rows.
func (l *listWorkload) check(_ uint64, a *response) string {
	switch {
	case a.status != 200:
		return "HTTP " + strconv.Itoa(a.status)
	case !bytes.Contains(a.body, cursorKey):
		return "not a page"
	}
	return ""
}

// onLost implements job: a read changes nothing.
func (l *listWorkload) onLost(uint64) {}
