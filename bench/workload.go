package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"

	"mizan/bench/cluster"
	"mizan/bench/generator"
	"mizan/bench/server"
)

const (
	paymentAmount   = 1_000 // minor units
	paymentCurrency = "USD"
	paymentEnv      = "prod"

	// maxUnresolved bounds the number of payments whose outcome is looked up after a run. maxIDs
	// bounds the number of ids from which the read workload chooses.
	maxUnresolved = 20_000
	maxIDs        = 4_000_000

	idSize = len("00000000-0000-0000-0000-000000000000")
)

// requestHead returns the head of an HTTP request: everything that precedes the body.
func requestHead(method, path, host string, s *server.Sandbox, bodyLength int) []byte {
	var b bytes.Buffer
	_, _ = fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\nx-api-key: %s\r\nx-organization-id: %s\r\n", method, path, host, s.APIKey, s.OrganizationID)
	if bodyLength > 0 {
		_, _ = fmt.Fprintf(&b, "Content-Type: application/json\r\nContent-Length: %d\r\n", bodyLength)
	}
	b.WriteString("\r\n")
	return b.Bytes()
}

// numberPlaceholder stands in the template of a request for the payment's number. The number is written over it as hexadecimal
// digits.
const numberPlaceholder = "################"

// paymentRequest returns the request that creates a payment, with a txid that ends in numberPlaceholder. runID is
// unique to the run.
func paymentRequest(host, runID string, s *server.Sandbox) []byte {
	body := `{"params":{"type":"payment","amount":"` + strconv.Itoa(paymentAmount) + `","currency":"` + paymentCurrency +
		`","env":"` + paymentEnv + `","txid":"bench-` + runID + `-` + numberPlaceholder +
		`","returnUrl":"https://shop.example/paid","failUrl":"https://shop.example/failed","money_storage":{"type":"bank_card",` +
		`"cardnumber":"4242424242424242","cardholder":"BENCH MARK","exp_month":"12","exp_year":"2040","cvv":"123"}}}`
	return append(requestHead("POST", "/api/v1/transactions", host, s, len(body)), body...)
}

// payments is the workload that creates payments, each with its own txid. It records the payments whose outcome is
// unknown.
type payments struct {
	template []byte // the request
	bodySize int    // size of the request's body, in bytes
	numberAt int    // position of the payment's number in template
	keys     []byte // API keys that the payments use in turn, keySize bytes each; empty if all payments use the template's key
	keySize  int
	keyAt    int  // position of the API key in template
	keepIDs  bool // the ids of charged payments are kept in ids, for the read workload

	mu                sync.Mutex
	chargedCount      uint64
	unresolved        []uint64 // numbers of payments with unknown outcome
	tooManyUnresolved bool     // more than maxUnresolved payments have an unknown outcome
	ids               []byte   // ids of charged payments, idSize bytes each
}

func newPayments(host, runID string, s *server.Sandbox, keepIDs bool) *payments {
	p := &payments{template: paymentRequest(host, runID, s), keepIDs: keepIDs}
	p.bodySize = len(p.template) - len("\r\n\r\n") - bytes.Index(p.template, []byte("\r\n\r\n"))
	p.numberAt = bytes.Index(p.template, []byte(numberPlaceholder))
	const keyHeader = "x-api-key: "
	p.keyAt = bytes.Index(p.template, []byte(keyHeader)) + len(keyHeader)
	return p
}

// Cluster compares one server with clusters under payments. It prints the report to out, and the progress to progress. An error
// means that there are no figures, or that they can't be trusted.
func Cluster(ctx context.Context, cfg cluster.Config, out, progress io.Writer) error {
	dir, remove, err := dataDirectory(cfg.Data)
	if err != nil {
		return err
	}
	defer remove()
	warnIfInMemory(progress, dir)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(1, runtime.NumCPU()/4))) // as in Payments
	header := newHeader(dir)
	report, err := cluster.Run(ctx, &cfg, dir, func(host, runID string, s *server.Sandbox) func() generator.Job {
		return newPayments(host, runID, s, false).job
	}, progress)
	if err != nil {
		return err
	}
	if cfg.JSON {
		return json.NewEncoder(out).Encode(struct {
			Header
			*cluster.Report
		}{header, report})
	}
	printLine(out, "machine    %v", header.Machine)
	return report.Print(out)
}

// useKeys makes the payments use all given API keys in turn. The keys must be as long as the sandbox's own key.
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

func (p *payments) job() generator.Job { return &paymentJob{p, bytes.Clone(p.template)} }

// Request implements generator.Job.
func (p *paymentJob) Request(n uint64) []byte {
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

// Check implements generator.Job. The server responds to a create with 201, whatever the payment's status is. A 4xx or 503
// response means that nothing is stored.
func (p *paymentJob) Check(n uint64, a *generator.Response) string {
	if a.Status == 201 && bytes.Contains(a.Body, statusCharged) {
		p.recordCharged(a)
		return ""
	}
	if a.Status != 201 {
		if a.Status >= 500 && a.Status != 503 {
			p.OnLost(n)
		}
		return "HTTP " + strconv.Itoa(a.Status)
	}
	status := string(generator.MemberValue(a.Body, `"status":`))
	if !neverCharged(status) {
		p.OnLost(n)
	}
	return "status " + status
}

// neverCharged tells whether a payment with this status will never be charged.
func neverCharged(status string) bool { return status == "rejected" || status == "failed" }

func (p *payments) recordCharged(a *generator.Response) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.chargedCount++
	if p.keepIDs && len(p.ids) < maxIDs*idSize {
		if id := generator.MemberValue(a.Body, `"id":`); len(id) == idSize {
			p.ids = append(p.ids, id...)
		}
	}
}

// OnLost implements generator.Job. It records a payment whose outcome is unknown.
func (p *payments) OnLost(n uint64) {
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

func (r *readWorkload) job() generator.Job {
	return &readJob{r, bytes.Clone(r.template), rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))}
}

// Request implements generator.Job.
func (r *readJob) Request(uint64) []byte {
	i := r.random.IntN(len(r.ids)/idSize) * idSize
	copy(r.requestBytes[r.idAt:r.idAt+idSize], r.ids[i:i+idSize])
	return r.requestBytes
}

// Check implements generator.Job. The response must be the requested payment, with the status charged.
func (r *readJob) Check(_ uint64, a *generator.Response) string {
	switch {
	case a.Status != 200:
		return "HTTP " + strconv.Itoa(a.Status)
	case !bytes.Equal(generator.MemberValue(a.Body, `"id":`), r.requestBytes[r.idAt:r.idAt+idSize]):
		return "another payment"
	case !bytes.Contains(a.Body, statusCharged):
		return "status " + string(generator.MemberValue(a.Body, `"status":`))
	}
	return ""
}

// OnLost implements generator.Job. A lost answer to a read needs no follow-up, because a read changes nothing.
func (r *readJob) OnLost(uint64) {}

// listWorkload is the workload that always GETs the same page of the list of transactions.
type listWorkload struct{ requestBytes []byte }

func newListWorkload(host, query string, s *server.Sandbox) *listWorkload {
	return &listWorkload{requestHead("GET", "/api/v1/transactions?"+query, host, s, 0)}
}

func (l *listWorkload) job() generator.Job { return l }

// Request implements generator.Job.
func (l *listWorkload) Request(uint64) []byte { return l.requestBytes }

var cursorKey = []byte(`"cursor":{`)

// Check implements generator.Job. The response must be a page, with any number of rows.
func (l *listWorkload) Check(_ uint64, a *generator.Response) string {
	switch {
	case a.Status != 200:
		return "HTTP " + strconv.Itoa(a.Status)
	case !bytes.Contains(a.Body, cursorKey):
		return "not a page"
	}
	return ""
}

// OnLost implements generator.Job. A lost answer to a read needs no follow-up, because a read changes nothing.
func (l *listWorkload) OnLost(uint64) {}
