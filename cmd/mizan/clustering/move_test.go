package clustering

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"mizan/internal/testkit"
)

// move runs `mizan cluster move`.
func (r *running) move(org string, shard int) (out string, err error) {
	content, err := exec.Command(r.binary, "cluster", "move", "--sandbox", filepath.Join(r.dir, clusterFile), org, strconv.Itoa(shard)).CombinedOutput()
	return string(content), err
}

func (r *running) mustMove(org string, shard int) {
	r.t.Helper()
	testkit.WaitUntil(r.t, fmt.Sprintf("the organization is in shard %d", shard), func() bool {
		out, err := r.move(org, shard)
		switch {
		case err == nil:
			return strings.Contains(out, fmt.Sprintf("is in shard %d now", shard))
		case strings.Contains(out, "another leader"), strings.Contains(out, "being moved"), strings.Contains(out, "(503)"): // on a slow machine
			return false
		}
		return strings.Contains(out, fmt.Sprintf("in shard %d already", shard))
	})
}

// moveVia moves an organization by requests to a node.
func (r *running) moveVia(n *node, org string, shard int) {
	r.t.Helper()
	if a := r.operate(n, http.MethodPost, "/api/v1/cluster/move", fmt.Sprintf(`{"organization":%q,"shard":%d}`, org, shard)); a.status != http.StatusAccepted {
		r.t.Fatalf("%d %s", a.status, a.body)
	}
	testkit.WaitUntil(r.t, "the organization has moved", func() bool {
		var st struct{ Data status }
		if a := r.operate(n, http.MethodGet, "/api/v1/cluster", ""); json.Unmarshal(a.body, &st) != nil {
			return false
		}
		for _, m := range st.Data.Moves {
			if m.Organization == org && m.To == shard && m.State != "copying" {
				return m.State == "moved"
			}
		}
		return false
	})
}

// An organization moves through all shards and back while it is paid. Everything that was true of it before is true afterwards, on
// every node, and clients notice nothing but a short pause.
func TestOrganizationMovesBetweenShards(t *testing.T) {
	r := start(t, filepath.Join(t.TempDir(), "cluster"), 3)
	nodes, org := r.box.Nodes, r.value("organization_id")
	partner := []string{"x-api-key", r.value("api_key"), "x-organization-id", org}
	admin := []string{"x-organization-id", org}
	body := `{"login":"moved","pass":"a long pass phrase 17","name":"Moved","email":"moved@example.com"}`
	created := r.operate(&nodes[0], http.MethodPost, "/api/v1/partners", body, append(admin, "Idempotency-Key", "partner-1")...)
	if created.status != http.StatusCreated {
		t.Fatalf("%d %s", created.status, created.body)
	}
	link := r.send(&nodes[1], http.MethodPost, "/api/v1/links", `{"amount":{"default":1999,"currency":"USD"},"amount_type":"fixed","pay_config":{},"description":"Moves"}`, partner...)
	if link.status != http.StatusCreated {
		t.Fatalf("%d %s", link.status, link.body)
	}
	address := link.member(t, "url")
	_, path, isURL := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(address, "http://"), "https://"), "/")
	if !isURL {
		t.Fatalf("the link's address is %q", address)
	}
	page := r.send(&nodes[0], http.MethodGet, "/"+path, "")
	if page.status == http.StatusNotFound || page.status >= http.StatusInternalServerError {
		t.Fatalf("the link's page is %d", page.status)
	}
	txid := uuid.NewString()
	paid := r.pay(&nodes[0], txid)
	proof := r.send(&nodes[0], http.MethodGet, "/api/v1/ledger/trial-balance?env=test", "", "authorization", "Bearer "+r.value("auditor_token"), "x-organization-id", org)
	if proof.status != http.StatusOK {
		t.Fatalf("%d %s", proof.status, proof.body)
	}

	var acknowledged sync.Map
	var refused atomic.Int64
	ended := make(chan struct{})
	var clients sync.WaitGroup
	end := sync.OnceFunc(func() { close(ended); clients.Wait() })
	defer end()
	for i := range nodes {
		clients.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
				}
				id := uuid.NewString()
				switch a := r.sendOnce(&nodes[i], http.MethodPost, "/api/v1/transactions", testkit.CardPayment(id), partner...); a.status {
				case http.StatusCreated:
					acknowledged.Store(id, a.member(t, "id"))
				case http.StatusServiceUnavailable:
					refused.Add(1)
				default:
					t.Errorf("a payment gets %d %s", a.status, a.body)
				}
			}
		})
	}
	for _, shard := range []int{2, 3, 1, 2} {
		r.mustMove(org, shard)
		for i := range nodes {
			n := &nodes[i]
			if a := r.pay(n, txid); a.status != http.StatusCreated || a.member(t, "id") != paid.member(t, "id") || a.header.Get("x-mizan-shard") != strconv.Itoa(shard) {
				t.Errorf("%s: the payment is %d %s in shard %s", n.Name, a.status, a.body, a.header.Get("x-mizan-shard"))
			}
			if a := r.operate(n, http.MethodPost, "/api/v1/partners", body, append(admin, "Idempotency-Key", "partner-1")...); a.status != http.StatusCreated || string(a.body) != string(created.body) {
				t.Errorf("%s: the repeated request gets %d %s, want %s", n.Name, a.status, a.body, created.body)
			}
			if a := r.send(n, http.MethodGet, "/"+path, ""); a.status != page.status {
				t.Errorf("%s: the link's page is %d", n.Name, a.status)
			}
			if a := r.operate(n, http.MethodGet, "/api/v1/organizations", ""); strings.Count(string(a.body), org) != 1 {
				t.Errorf("%s: the organizations are %s", n.Name, a.body)
			}
		}
		r.wantLogins(nodes)
	}
	end()
	total := 0
	acknowledged.Range(func(id, transaction any) bool {
		total++
		if a := r.pay(&nodes[total%3], id.(string)); a.status != http.StatusCreated || a.member(t, "id") != transaction {
			t.Errorf("the acknowledged payment %v is %d %s", transaction, a.status, a.body)
		}
		return true
	})
	t.Logf("%d payments acknowledged during the moves, %d refused", total, refused.Load())
	if total == 0 {
		t.Error("no payment was acknowledged")
	}
	r.wantMoveRefusals(org)

	// The leader of the shard is killed: the next one knows that the organization is there.
	leads, other := r.leader(2)
	if err := syscall.Kill(leads.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if a := r.pay(other, txid); a.status != http.StatusCreated || a.member(t, "id") != paid.member(t, "id") {
		t.Errorf("after a change of the leader the payment is %d %s", a.status, a.body)
	}
	r.moveVia(other, org, 3)
	if a := r.pay(other, txid); a.status != http.StatusCreated || a.member(t, "id") != paid.member(t, "id") {
		t.Errorf("after the move the payment is %d %s", a.status, a.body)
	}
	r.stop()
	for i := range nodes {
		for shard := range 4 {
			dir := filepath.Join(nodes[i].Data, "shards", strconv.Itoa(shard), "store")
			if out, err := exec.Command(r.binary, "audit", "verify", "--data", dir, "--keyring", filepath.Join(r.dir, keyringFile)).CombinedOutput(); err != nil {
				t.Errorf("%s, shard %d: %v: %s", nodes[i].Name, shard, err, out)
			}
		}
	}
}

// wantMoveRefusals checks what is answered to orders that cannot be carried out.
func (r *running) wantMoveRefusals(org string) {
	r.t.Helper()
	for _, c := range []struct {
		body   string
		status int
		names  string
	}{
		{fmt.Sprintf(`{"organization":%q,"shard":2}`, org), http.StatusConflict, "already"},
		{fmt.Sprintf(`{"organization":%q,"shard":1}`, uuid.NewString()), http.StatusNotFound, ""},
		{fmt.Sprintf(`{"organization":%q,"shard":0}`, org), http.StatusUnprocessableEntity, "shard"},
		{fmt.Sprintf(`{"organization":%q,"shard":9}`, org), http.StatusUnprocessableEntity, "shard"},
		{`{"organization":"x","shard":1}`, http.StatusUnprocessableEntity, "organization"},
		{`{"shard":1}`, http.StatusUnprocessableEntity, "organization"},
		{`[]`, http.StatusUnprocessableEntity, ""},
	} {
		for i := range r.box.Nodes {
			n := &r.box.Nodes[i]
			if a := r.operate(n, http.MethodPost, "/api/v1/cluster/move", c.body); a.status != c.status || !strings.Contains(string(a.body), c.names) {
				r.t.Errorf("%s: %s gets %d %s", n.Name, c.body, a.status, a.body)
			}
		}
	}
	if a := r.send(&r.box.Nodes[0], http.MethodPost, "/api/v1/cluster/move", fmt.Sprintf(`{"organization":%q,"shard":1}`, org)); a.status != http.StatusUnauthorized {
		r.t.Errorf("a caller without a token gets %d", a.status)
	}
	var st struct{ Data status }
	if a := r.operate(&r.box.Nodes[0], http.MethodGet, "/api/v1/cluster", ""); json.Unmarshal(a.body, &st) != nil || len(st.Data.Moves) == 0 {
		r.t.Errorf("the cluster shows no moves: %s", a.body)
	}
}
