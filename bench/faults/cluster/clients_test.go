package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	clientsOfTenant = 4
	requestEvery    = 60 * time.Millisecond // each client sends a request so often, if the last one has been answered
	callTimeout     = 8 * time.Second       // longer than any pause of a node
	probeEvery      = 25 * time.Millisecond
	maxAttempts     = 10 // to make an organization; on a busy machine a lead may change meanwhile
)

// pool sends requests to the nodes of a cluster.
type pool struct {
	*book
	urls  []string // base URLs of the nodes
	names []string // their names, in the same order
	http  *http.Client
}

// newPool creates a book with an organization in each shard.
func newPool(f *fleet, seed uint64) *pool {
	f.t.Helper()
	p := &pool{book: newBook(seed), http: &http.Client{Transport: f.transport(), Timeout: callTimeout}}
	p.know(f.all())
	for shard := 1; shard <= shards; shard++ {
		tn, err := p.makeTenant(f, shard)
		for range maxAttempts {
			if err == nil {
				break
			}
			f.t.Logf("an organization of shard %d is made again: %v", shard, err)
			tn, err = p.makeTenant(f, shard)
		}
		if err == nil {
			tn.answers, err = createAnswers(f.path(fmt.Sprintf("answers-%d", shard)))
		}
		if err != nil {
			f.t.Fatalf("an organization of shard %d: %v", shard, err)
		}
		p.tenants = append(p.tenants, tn)
	}
	f.t.Cleanup(p.http.CloseIdleConnections)
	return p
}

// know sets the nodes to which clients send requests. No client may be at work.
func (p *pool) know(nodes []*node) {
	p.urls, p.names = nil, nil
	for _, n := range nodes {
		p.urls, p.names = append(p.urls, n.baseURL()), append(p.names, n.name)
	}
}

// makeTenant creates an organization in a shard, with a partner, its key and a terminal.
func (p *pool) makeTenant(f *fleet, shard int) (*tenant, error) {
	tn := &tenant{first: shard}
	tn.place.Store(int32(shard))
	create := func(path, body string, into any) (int, error) {
		a := p.send(context.Background(), 0, http.MethodPost, path, body, "authorization", "Bearer "+f.token, "x-organization-id", tn.org)
		if a.status != http.StatusCreated {
			return 0, fmt.Errorf("POST %s answered %d: %s", path, a.status, a.body)
		}
		at, err := strconv.Atoi(a.header.Get("x-mizan-shard"))
		return at, errors.Join(err, json.Unmarshal(a.body, into))
	}
	var org struct{ Data struct{ ID string } }
	var err error
	for at := 0; at != shard; { // a new organization gets into the shard that has the fewest
		if at, err = create("/api/v1/organizations", `{"name":"Faults"}`, &org); err != nil {
			return nil, err
		}
	}
	tn.org = org.Data.ID
	if tn.partner, err = makePartner("merchant", []string{env}, create); err == nil {
		err = p.makeAccounts(tn, create)
	}
	return tn, err
}

// makePartner creates a partner with a key, and with a terminal in each of the environments.
func makePartner(login string, environments []string, create func(path, body string, into any) (int, error)) (*partner, error) {
	var made struct{ ID int64 }
	var key struct{ Key string }
	_, err := create("/api/v1/partners", `{"name":"Merchant","login":"`+login+`","pass":"correct-Horse-battery-71"}`, &made)
	if err == nil {
		_, err = create("/api/v1/api_keys", fmt.Sprintf(`{"name":"key","partner_id":%d}`, made.ID), &key)
	}
	for _, env := range environments {
		if err == nil {
			_, err = create("/api/v1/terminal", fmt.Sprintf(`{"name":"t","partner_id":%d,"provider":"simulator","type":"payment","env":%q,"is_active":true}`, made.ID, env), new(struct{}))
		}
	}
	return &partner{made.ID, key.Key}, err
}

// answer is a response. Status 0 means that no complete response came.
type answer struct {
	status    int
	header    http.Header
	body      []byte
	isRefused bool // there was no connection, so nothing was sent
}

// send sends a request to a node.
func (p *pool) send(ctx context.Context, node int, method, path, body string, headers ...string) *answer {
	request, err := http.NewRequestWithContext(ctx, method, p.urls[node]+path, bytes.NewReader([]byte(body)))
	if err != nil {
		panic(err) // the methods and paths are constants of this package
	}
	if body != "" {
		request.Header.Set("content-type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] != "" {
			request.Header.Set(headers[i], headers[i+1])
		}
	}
	response, err := p.http.Do(request)
	if err != nil {
		return &answer{isRefused: errors.Is(err, syscall.ECONNREFUSED)}
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return new(answer)
	}
	return &answer{status: response.StatusCode, header: response.Header, body: content}
}

// call sends a partner's request, and records it with its answer.
func (p *pool) call(tn *tenant, caller *partner, node int, method, path, body, recordedBody, key string) *answer {
	a := p.send(context.Background(), node, method, path, body, "x-api-key", caller.key, "x-organization-id", tn.org, "idempotency-key", key)
	if !a.isRefused {
		line := answerLine{Method: method, Path: path, Organization: tn.org, Partner: caller.id, Key: key, Status: a.status, Response: a.body}
		if recordedBody != "" {
			line.Body = json.RawMessage(recordedBody)
		}
		tn.answers.add(line)
	}
	return a
}

// isNothingDone tells whether an answer says that the request had no effect.
func (a *answer) isNothingDone() bool {
	return a.isRefused || a.status == http.StatusTooManyRequests || a.status == http.StatusServiceUnavailable && bytes.Contains(a.body, []byte("nothing was done"))
}

// isUnknown tells whether an answer leaves open what the request has done.
func (a *answer) isUnknown() bool {
	return a.status == 0 || a.status == http.StatusServiceUnavailable
}

// view returns the payment that an answer shows.
func (a *answer) view() (v view) {
	_ = json.Unmarshal(a.body, &v) // an answer that cannot be read leaves an empty view, which the model does not allow
	v.httpStatus = a.status
	v.isReplay = a.header.Get("x-idempotent-replay") == "true"
	v.hasOtherAmount = a.header.Get("x-idempotent-mismatch") == "amount"
	return v
}

// outcome names an answer for the counts.
func (a *answer) outcome() string {
	switch {
	case a.isRefused:
		return "no connection"
	case a.status == 0:
		return "no answer"
	case a.status == http.StatusServiceUnavailable:
		var refusal struct{ Message string }
		_ = json.Unmarshal(a.body, &refusal) // without a message the status is enough
		return "503 " + refusal.Message
	}
	return strconv.Itoa(a.status)
}

// create sends a create for a payment to a node. more is added to the amount, if the request is to differ from the first one.
func (p *pool) create(pm *payment, node, more int) *answer {
	if !pm.begin() {
		return new(answer)
	}
	render := func(card, cvv string) string {
		return fmt.Sprintf(`{"params":{"txid":%q,"type":"payment","env":%q,"amount":"%d","currency":%q,"returnUrl":"https://shop.example/paid",`+
			`"failUrl":"https://shop.example/failed","money_storage":{"type":"bank_card","cardnumber":%q,"cardholder":"A B","exp_month":"12","exp_year":"2040"%s}}}`,
			pm.txid, env, pm.amount+more, currency, card, cvv)
	}
	call := p.now()
	a := p.call(pm.tenant, pm.tenant.partner, node, http.MethodPost, "/api/v1/transactions", render(pm.card, `,"cvv":"737"`), render(pm.card[len(pm.card)-4:], ""), "")
	end := p.now()
	p.count("create: " + a.outcome())
	input := createInput{strconv.Itoa(pm.amount + more)}
	switch {
	case a.isNothingDone():
		pm.end(input, nil, true, call, end)
	case a.isUnknown():
		pm.end(input, nil, false, call, end)
	default:
		if a.status != http.StatusCreated {
			p.complain("txid %s: node %s answered a create with %d: %s", pm.txid, p.names[node], a.status, a.body)
		}
		pm.end(input, a.view(), false, call, end)
	}
	return a
}

// read reads a payment through a node.
func (p *pool) read(pm *payment, node int) *answer {
	id := pm.shown().ID
	if id == "" || !pm.begin() {
		return new(answer)
	}
	call := p.now()
	a := p.call(pm.tenant, pm.tenant.partner, node, http.MethodGet, "/api/v1/transactions/"+id, "", "", "")
	p.endShow(pm, "read", node, id, a, call, false)
	return a
}

// endShow records a request whose answer shows a payment.
func (p *pool) endShow(pm *payment, kind string, node int, id string, a *answer, call int64, isRefusalAllowed bool) {
	end := p.now()
	p.count(kind + ": " + a.outcome())
	isRefusal := isRefusalAllowed && (a.status == http.StatusConflict || a.status == http.StatusUnprocessableEntity)
	switch {
	case a.isNothingDone(), a.isUnknown(), isRefusal:
		pm.end(showInput{id}, nil, true, call, end)
		return
	case a.status != http.StatusOK:
		p.complain("txid %s: node %s answered a %s of %s with %d: %s", pm.txid, p.names[node], kind, id, a.status, a.body)
	}
	v := a.view()
	// The answer to a repeated refund is that of the first one, so it may show an earlier status.
	pm.end(showInput{id}, v, v.isReplay, call, end)
}

// giveBack refunds a payment, or repeats the request.
func (p *pool) giveBack(pm *payment, node int) *answer {
	id := pm.shown().ID
	if id == "" || !pm.begin() {
		return new(answer)
	}
	body := fmt.Sprintf(`{"params":{"type":"refund","amount":"%d"}}`, pm.refund)
	call := p.now()
	a := p.call(pm.tenant, pm.tenant.partner, node, http.MethodPut, "/api/v1/transactions/"+id, body, body, "refund-"+pm.txid)
	p.endShow(pm, "refund", node, id, a, call, true)
	return a
}

// work acts as one client of a tenant until ctx ends.
func (p *pool) work(ctx context.Context, tn *tenant, random *rand.Rand) {
	tick := time.NewTicker(requestEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		node, roll, pm := random.IntN(len(p.urls)), random.IntN(100), tn.recent(random)
		switch {
		case pm == nil || roll < 50:
			p.create(p.add(tn, random), node, 0)
		case roll < 65:
			p.create(pm, node, 0)
		case roll < 68:
			p.create(pm, node, 1)
		case roll < 80 && pm.shown().Status == "charged":
			p.giveBack(pm, node)
		default:
			p.read(pm, node)
		}
	}
}

// load runs all clients until stop is called, which waits for their last answers.
func (p *pool) load(seed uint64) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var working sync.WaitGroup
	for _, tn := range p.tenants {
		for i := range clientsOfTenant {
			random := rand.New(rand.NewPCG(seed, uint64(tn.first*1000+i+1)))
			working.Go(func() { p.work(ctx, tn, random) })
		}
		for i := range clientsOfAccounts {
			random := rand.New(rand.NewPCG(seed, uint64(tn.first*1000+500+i)))
			working.Go(func() { p.workOnAccounts(ctx, tn, random) })
		}
	}
	return func() {
		cancel()
		working.Wait()
	}
}

// acceptance is the first payment that a shard has accepted after a fault.
type acceptance struct {
	at   time.Time
	node string // that has served it
}

// probe sends new payments to all nodes in turn, until isEnough returns true for one that was accepted, or until the time is
// over. It returns the acceptance. wait waits for the last answers.
func (p *pool) probe(tn *tenant, random *rand.Rand, timeout time.Duration, isEnough func(node string) bool) (first acceptance, isAccepted bool, wait func()) {
	accepted := make(chan acceptance, 1)
	var sending sync.WaitGroup
	tick := time.NewTicker(probeEvery)
	defer tick.Stop()
	end := time.After(timeout)
	for i := 0; ; i++ {
		pm, node := p.add(tn, random), i%len(p.urls)
		sending.Go(func() {
			a := p.create(pm, node, 0)
			if a.status == http.StatusCreated && isEnough(a.header.Get("x-mizan-node")) {
				select {
				case accepted <- acceptance{time.Now(), a.header.Get("x-mizan-node")}:
				default:
				}
			}
		})
		select {
		case first = <-accepted:
			return first, true, sending.Wait
		case <-end:
			return first, false, sending.Wait
		case <-tick.C:
		}
	}
}
