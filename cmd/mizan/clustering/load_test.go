package clustering

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"

	"mizan/internal/testkit"
)

// payers pay until they are stopped. They remember the payments that were acknowledged.
type payers struct {
	r       *running
	stopped atomic.Bool
	work    sync.WaitGroup

	mu    sync.Mutex
	acked map[string]string // guarded by mu: ids of transactions by their txid
	wrong []string          // guarded by mu: answers that no client may get
}

// startPayers starts so many clients, which send their payments to the nodes in turn.
func (r *running) startPayers(count int) *payers {
	p := &payers{r: r, acked: make(map[string]string)}
	for i := range count {
		p.work.Go(func() {
			for k := i; !p.stopped.Load(); k++ {
				p.pay(&r.box.Nodes[k%len(r.box.Nodes)])
			}
		})
	}
	r.t.Cleanup(p.stop)
	return p
}

// pay makes a payment, and repeats it until it is acknowledged or the payers are stopped.
func (p *payers) pay(n *node) {
	txid := uuid.NewString()
	for k := 0; !p.stopped.Load(); k++ {
		a := p.r.sendOnce(n, http.MethodPost, "/api/v1/transactions", testkit.CardPayment(txid), "x-api-key", p.r.value("api_key"), "x-organization-id", p.r.value("organization_id"))
		switch a.status {
		case http.StatusCreated:
			p.mu.Lock()
			p.acked[txid] = a.member(p.r.t, "id")
			p.mu.Unlock()
			return
		case 0, http.StatusServiceUnavailable: // no answer, or no leader: the payment is repeated at another node
			n = &p.r.box.Nodes[k%len(p.r.box.Nodes)]
		default:
			p.mu.Lock()
			p.wrong = append(p.wrong, fmt.Sprintf("%d %s", a.status, a.body))
			p.mu.Unlock()
			return
		}
	}
}

func (p *payers) stop() {
	p.stopped.Store(true)
	p.work.Wait()
}

// acknowledged returns the payments that are acknowledged now.
func (p *payers) acknowledged() map[string]string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.wrong) > 0 {
		p.r.t.Errorf("%d wrong answers, such as %s", len(p.wrong), p.wrong[0])
	}
	copied := make(map[string]string, len(p.acked))
	for txid, id := range p.acked {
		copied[txid] = id
	}
	return copied
}

// await waits until as many payments more are acknowledged.
func (p *payers) await(more int) {
	p.r.t.Helper()
	want := len(p.acknowledged()) + more
	testkit.WaitUntil(p.r.t, "further payments", func() bool { return len(p.acknowledged()) >= want })
}

// wantPayments checks that a node knows the payments: a repetition is answered with the first transaction.
func (r *running) wantPayments(n *node, acked map[string]string) {
	r.t.Helper()
	for txid, id := range acked {
		if a := r.pay(n, txid); a.status != http.StatusCreated || a.member(r.t, "id") != id || a.header.Get("x-idempotent-replay") != "true" {
			r.t.Errorf("%s: transaction %s of txid %s is %d %s", n.Name, id, txid, a.status, a.body)
		}
	}
}

// run runs a command of the program.
func (r *running) run(arguments ...string) (string, error) {
	out, err := exec.Command(r.binary, arguments...).CombinedOutput()
	return string(out), err
}

func (r *running) mustRun(arguments ...string) string {
	r.t.Helper()
	out, err := r.run(arguments...)
	if err != nil {
		r.t.Fatalf("%v: %v: %s", arguments, err, out)
	}
	return out
}

func (r *running) keyring() string { return filepath.Join(r.dir, keyringFile) }

// verify checks the stores of all nodes, which must not run.
func (r *running) verify(shards int) {
	r.t.Helper()
	for i := range r.box.Nodes {
		for shard := range shards + 1 {
			dir := filepath.Join(r.box.Nodes[i].Data, "shards", fmt.Sprint(shard), "store")
			if out, err := r.run("audit", "verify", "--data", dir, "--keyring", r.keyring()); err != nil {
				r.t.Errorf("%s: %v: %s", dir, err, out)
			}
		}
	}
}

// wantOneChargeEach checks that the simulated provider was asked at most once for each payment.
func (r *running) wantOneChargeEach() {
	r.t.Helper()
	content, err := os.ReadFile(filepath.Join(r.box.Simulator.Data, "simulator.log"))
	if err != nil {
		r.t.Fatal(err)
	}
	charges := make(map[string]int)
	for text := range bytes.Lines(content) {
		var line struct{ Reference, Operation string }
		if err := json.Unmarshal(text, &line); err != nil {
			r.t.Fatalf("%v: %s", err, text)
		}
		if line.Operation == "payment" {
			charges[line.Reference]++
		}
	}
	for reference, count := range charges {
		if count != 1 {
			r.t.Errorf("transaction %s was charged %d times", reference, count)
		}
	}
	if len(charges) == 0 {
		r.t.Error("the provider's log has no payments")
	}
}
