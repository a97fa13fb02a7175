package clustering

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/testkit"
)

// running is a cluster sandbox under test.
type running struct {
	t      *testing.T
	dir    string
	binary string
	cmd    *exec.Cmd
	box    *sandbox
}

// values are the members of cluster.json that tests use.
func (r *running) value(name string) string {
	var text string
	if err := json.Unmarshal(r.box.values[name], &text); err != nil {
		r.t.Fatalf("%s in cluster.json: %v", name, err)
	}
	return text
}

// start runs `mizan cluster sandbox` until it is ready.
func start(t *testing.T, dir string, shards int) *running {
	t.Helper()
	r := &running{t: t, dir: dir, binary: testkit.Binary(t)}
	r.cmd = exec.Command(r.binary, "cluster", "sandbox", "--nodes", "3", "--shards", fmt.Sprint(shards), "--data", dir)
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := new(bytes.Buffer)
	r.cmd.Stderr = stderr
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	t.Cleanup(func() {
		logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
		for _, path := range logs {
			if content, err := os.ReadFile(path); err == nil && t.Failed() {
				t.Logf("%s:\n%s", filepath.Base(path), content[max(0, len(content)-4_000):])
			}
		}
	})
	line := make([]byte, 4096)
	n, err := out.Read(line)
	if err != nil || !strings.HasPrefix(string(line[:n]), "mizan: cluster ready") {
		t.Fatalf("it printed %q, %v, %s", line[:n], err, stderr)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	r.read()
	return r
}

func (r *running) read() {
	r.t.Helper()
	var err error
	if r.box, err = readSandbox(r.dir); err != nil {
		r.t.Fatal(err)
	}
}

// stop ends the sandbox, and checks that its processes have ended.
func (r *running) stop() {
	if r.cmd == nil {
		return
	}
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Error(err)
	}
	if err := r.cmd.Wait(); err != nil {
		r.t.Errorf("the sandbox ended with %v", err)
	}
	r.cmd = nil
	r.read()
	testkit.WaitUntil(r.t, "the simulated provider has ended", func() bool { return !isRunning(r.box.Simulator.PID, r.box.Simulator.Data) })
	for i := range r.box.Nodes {
		if n := &r.box.Nodes[i]; isRunning(n.PID, n.Data) {
			r.t.Errorf("node %s still runs", n.Name)
		}
	}
}

// answer is an answer to a request.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a *answer) member(t *testing.T, name string) string {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal(a.body, &object); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	if data, ok := object["data"].(map[string]any); ok {
		object = data
	}
	return fmt.Sprint(object[name])
}

// send sends a request to a node. headers are pairs of a name and a value.
func (r *running) send(n *node, method, path, body string, headers ...string) (a *answer) {
	r.t.Helper()
	testkit.WaitUntil(r.t, path+" is answered", func() bool {
		a = r.sendOnce(n, method, path, body, headers...)
		return a.status != http.StatusServiceUnavailable // a lead is being handed over
	})
	return a
}

func (r *running) sendOnce(n *node, method, path, body string, headers ...string) *answer {
	r.t.Helper()
	request, err := http.NewRequest(method, n.BaseURL+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Timeout: time.Minute, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return &answer{}
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return &answer{}
	}
	return &answer{response.StatusCode, response.Header, content}
}

func (r *running) pay(n *node, txid string) *answer {
	r.t.Helper()
	return r.send(n, http.MethodPost, "/api/v1/transactions", testkit.CardPayment(txid), "x-api-key", r.value("api_key"), "x-organization-id", r.value("organization_id"))
}

func (r *running) operate(n *node, method, path, body string, headers ...string) *answer {
	r.t.Helper()
	return r.send(n, method, path, body, append(headers, "authorization", "Bearer "+r.value("admin_token"))...)
}

// leader returns the node that leads a shard, and another node.
func (r *running) leader(shard int) (leads, other *node) {
	r.t.Helper()
	testkit.WaitUntil(r.t, fmt.Sprintf("shard %d has a leader", shard), func() bool {
		leads, other = nil, nil
		for i := range r.box.Nodes {
			st, err := askStatus(r.t.Context(), r.box.Nodes[i].BaseURL, r.value("admin_token"))
			if err != nil {
				continue
			}
			for k := range r.box.Nodes {
				switch n := &r.box.Nodes[k]; {
				case n.Name == st.Shards[shard].Leader:
					leads = n
				case isRunning(n.PID, n.Data):
					other = n
				}
			}
			return leads != nil && other != nil
		}
		return false
	})
	return leads, other
}

// Any node takes any request: payments, repeats, reads, the administration, pages of payers and of the console.
func TestAnyNodeTakesAnyRequest(t *testing.T) {
	r := start(t, filepath.Join(t.TempDir(), "cluster"), 3)
	nodes := r.box.Nodes
	txid := uuid.NewString()
	id := ""
	for i := range nodes {
		a := r.pay(&nodes[i], txid)
		if a.status != http.StatusCreated || a.member(t, "status") != "charged" {
			t.Fatalf("%s: %d %s", nodes[i].Name, a.status, a.body)
		}
		if got := a.member(t, "id"); id != "" && (got != id || a.header.Get("x-idempotent-replay") != "true") {
			t.Errorf("%s: the same txid is transaction %s, not %s", nodes[i].Name, got, id)
		} else {
			id = got
		}
		if a.header.Get("x-mizan-shard") != "1" || a.header.Get("x-mizan-node") == "" || len(a.header.Values("x-request-id")) != 1 {
			t.Errorf("%s: the headers are %v", nodes[i].Name, a.header)
		}
	}
	session := []string{"authorization", "Bearer " + r.value("auditor_token"), "x-organization-id", r.value("organization_id")}
	for i := range nodes {
		n := &nodes[i]
		if a := r.send(n, http.MethodGet, "/api/v1/transactions/"+id, "", "x-api-key", r.value("api_key"), "x-organization-id", r.value("organization_id")); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", n.Name, a.status, a.body)
		}
		if a := r.send(n, http.MethodGet, "/api/v1/ledger/export?format=csv&env=test", "", session...); a.status != http.StatusOK || !bytes.Contains(a.body, []byte(id)) {
			t.Errorf("%s: the export has %d bytes, %d", n.Name, len(a.body), a.status)
		}
		if a := r.send(n, http.MethodGet, "/console/login?organization="+r.value("organization_id"), ""); a.status != http.StatusOK || !bytes.Contains(a.body, []byte("Sandbox bank")) && !bytes.Contains(a.body, []byte("password")) {
			t.Errorf("%s: the login page is %d", n.Name, a.status)
		}
		if a := r.send(n, http.MethodGet, "/docs", ""); a.status >= http.StatusBadRequest {
			t.Errorf("%s: the reference is %d", n.Name, a.status)
		}
		if a := r.operate(n, http.MethodGet, "/api/v1/cluster", ""); a.status != http.StatusOK || a.header.Get("x-mizan-node") != n.Name {
			t.Errorf("%s: an answer of its own, %d, is one of %q", n.Name, a.status, a.header.Get("x-mizan-node"))
		}
	}
	for i := range nodes { // a GET with a body, as some clients send it
		if a := r.operate(&nodes[i], http.MethodGet, "/api/v1/partners", "null", "x-organization-id", r.value("organization_id")); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", nodes[i].Name, a.status, a.body)
		}
	}
	r.wantNoForgery(nodes)
	r.wantLogins(nodes)
	// An administration token is known on every node, and only a valid one.
	for i := range nodes {
		created := r.operate(&nodes[i], http.MethodPost, "/api/v1/organizations", fmt.Sprintf(`{"name":"Org %d","type":"merchant","status":"active"}`, i))
		if created.status != http.StatusCreated {
			t.Fatalf("%s: %d %s", nodes[i].Name, created.status, created.body)
		}
		org := created.member(t, "id")
		for k := range nodes {
			if a := r.operate(&nodes[k], http.MethodGet, "/api/v1/organizations/"+org, ""); a.status != http.StatusOK {
				t.Errorf("%s: organization %s is %d %s", nodes[k].Name, org, a.status, a.body)
			}
			if a := r.operate(&nodes[k], http.MethodGet, "/api/v1/partners", "", "x-organization-id", org); a.status != http.StatusOK {
				t.Errorf("%s: the partners of %s are %d %s", nodes[k].Name, org, a.status, a.body)
			}
		}
	}
	var list struct {
		Data []struct {
			ID      string
			Created string `json:"created_at"`
		}
		Cursor struct {
			Value *string `json:"cursor_value"`
		}
	}
	seen, path := make(map[string]bool), "/api/v1/organizations?limit=2"
	last := "9999"
	for pages := 0; pages < 10; pages++ {
		list.Data, list.Cursor.Value = nil, nil
		a := r.operate(&nodes[pages%3], http.MethodGet, path, "")
		if err := json.Unmarshal(a.body, &list); err != nil || a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
		for _, o := range list.Data {
			if seen[o.ID] || o.Created > last {
				t.Errorf("organization %s of %s after %s", o.ID, o.Created, last)
			}
			seen[o.ID], last = true, o.Created
		}
		if list.Cursor.Value == nil {
			break
		}
		path = "/api/v1/organizations?limit=2&cursor=" + strings.ReplaceAll(*list.Cursor.Value, "+", "%2B")
	}
	if len(seen) != 5 { // two of the sandbox, three that were created above
		t.Errorf("the list has %d organizations, not 5", len(seen))
	}
	for i := range nodes { // whichever node leads, the others forward the request to it
		if a := r.send(&nodes[i], http.MethodGet, "/api/v1/partners", "", "x-organization-id", r.value("organization_id"), "x-mizan-asserted-operator", "1", "x-mizan-asserted-shard", "1"); a.status != http.StatusUnauthorized {
			t.Errorf("%s: a forged assertion gets %d", nodes[i].Name, a.status)
		}
	}
	for _, status := range []int{
		r.send(&nodes[0], http.MethodGet, "/api/v1/organizations", "", "authorization", "Bearer mza_wrong").status,
		r.send(&nodes[1], http.MethodGet, "/api/v1/cluster", "").status,
	} {
		if status != http.StatusUnauthorized {
			t.Errorf("a caller without a valid token gets %d", status)
		}
	}
}

// wantNoForgery checks that clients cannot pretend to be another node, neither with headers, nor with trailers, nor with a body
// that looks like a further request, and that long bodies arrive whole.
func (r *running) wantNoForgery(nodes []node) {
	r.t.Helper()
	org := r.value("organization_id")
	hidden := "POST /api/v1/organizations HTTP/1.1\r\nHost: x\r\nX-Mizan-Asserted-Shard: 1\r\nX-Mizan-Asserted-Operator: 1\r\nContent-Type: application/json\r\nContent-Length: 60\r\n\r\n" +
		`{"name":"forged","type":"merchant","status":"active"}       `
	long := hidden + strings.Repeat(" ", 70<<10)
	for i := range nodes {
		n := &nodes[i]
		for name, raw := range map[string]string{
			"trailer": "POST /api/v1/partners HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Organization-Id: " + org + "\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" +
				"2\r\n{}\r\n0\r\nX-Mizan-Asserted-Operator: 1\r\nX-Mizan-Asserted-Shard: 1\r\n\r\n",
			"long body":   fmt.Sprintf("POST /api/v1/transactions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Organization-Id: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", org, len(long), long),
			"long chunks": fmt.Sprintf("POST /api/v1/transactions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Organization-Id: %s\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", org, len(long), long),
		} {
			status := ""
			testkit.WaitUntil(r.t, "the request is answered", func() bool {
				status = r.sendRaw(n, raw)
				return status != "503" // a lead is being handed over
			})
			if status != "401" {
				r.t.Errorf("%s, %s: %s", n.Name, name, status)
			}
		}
		// A long body of an authenticated partner arrives whole.
		payment := strings.Replace(testkit.CardPayment(uuid.NewString()), `"params":{`, `"params":{`+strings.Repeat(" ", 100<<10), 1)
		if a := r.send(n, http.MethodPost, "/api/v1/transactions", payment, "x-api-key", r.value("api_key"), "x-organization-id", org); a.status != http.StatusCreated {
			r.t.Errorf("%s: a payment of %d bytes is %d %s", n.Name, len(payment), a.status, a.body)
		}
	}
	if a := r.operate(&nodes[0], http.MethodGet, "/api/v1/organizations?limit=500", ""); bytes.Contains(a.body, []byte("forged")) {
		r.t.Error("a body was taken for a request of another node")
	}
}

// sendRaw sends a request as it is, and returns the status of the answer.
func (r *running) sendRaw(n *node, raw string) (status string) {
	r.t.Helper()
	conn, err := net.Dial("tcp", n.Listen)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		r.t.Fatal(err)
	}
	if _, err := io.WriteString(conn, raw); err != nil {
		r.t.Fatal(err)
	}
	line := make([]byte, len("HTTP/1.1 401"))
	if _, err := io.ReadFull(conn, line); err != nil {
		r.t.Fatal(err)
	}
	return string(line[len("HTTP/1.1 "):])
}

// wantLogins checks that a person can sign in to the console on every node, and is then known on every node.
func (r *running) wantLogins(nodes []node) {
	r.t.Helper()
	form := url.Values{"organization": {r.value("organization_id")}, "login": {r.value("admin_login")}, "pass": {r.value("admin_pass")}}
	for i := range nodes {
		request, err := http.NewRequest(http.MethodPost, nodes[i].BaseURL+"/console/login", strings.NewReader(form.Encode()))
		if err != nil {
			r.t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Sec-Fetch-Site", "same-origin")
		request.Header.Set("Origin", nodes[i].BaseURL)
		client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		response, err := client.Do(request)
		if err != nil {
			r.t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusSeeOther {
			r.t.Errorf("%s: the login is %d", nodes[i].Name, response.StatusCode)
			continue
		}
		cookie := ""
		for _, c := range response.Cookies() {
			if c.Name == "mizan_session" {
				cookie = c.Name + "=" + c.Value
			}
		}
		for k := range nodes {
			if a := r.send(&nodes[k], http.MethodGet, "/console/", "", "cookie", cookie); a.status != http.StatusOK && a.status != http.StatusSeeOther || bytes.Contains(a.body, []byte(`name="pass"`)) {
				r.t.Errorf("signed in on %s, %s answers %d", nodes[i].Name, nodes[k].Name, a.status)
			}
		}
	}
}

// If the leader is killed, another node takes over with everything that was acknowledged. The node comes back.
func TestKilledLeaderIsReplaced(t *testing.T) {
	r := start(t, filepath.Join(t.TempDir(), "cluster"), 1)
	leads, other := r.leader(1)
	acknowledged := make(map[string]string)
	for range 5 {
		txid := uuid.NewString()
		if a := r.pay(leads, txid); a.status == http.StatusCreated {
			acknowledged[txid] = a.member(t, "id")
		}
	}
	if err := syscall.Kill(leads.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	testkit.WaitUntil(t, "another node accepts payments", func() bool {
		txid := uuid.NewString()
		a := r.pay(other, txid)
		if a.status == http.StatusCreated {
			acknowledged[txid] = a.member(t, "id")
		}
		return a.status == http.StatusCreated
	})
	name := leads.Name
	if out, err := exec.Command(r.binary, "cluster", "start", "--data", r.dir, "--node", name).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r.read()
	for i := range r.box.Nodes {
		for txid, id := range acknowledged {
			if a := r.pay(&r.box.Nodes[i], txid); a.status != http.StatusCreated || a.member(t, "id") != id || a.member(t, "status") != "charged" {
				t.Errorf("%s: transaction %s of txid %s is %d %s", r.box.Nodes[i].Name, id, txid, a.status, a.body)
			}
		}
	}
	if out, err := exec.Command(r.binary, "cluster", "start", "--data", r.dir, "--node", name).CombinedOutput(); err == nil || !strings.Contains(string(out), "runs already") {
		t.Errorf("a node that runs is started again: %s", out)
	}
	testkit.WaitUntil(t, "every replica has everything", func() bool {
		st, err := askStatus(t.Context(), other.BaseURL, r.value("admin_token"))
		if err != nil || !st.isReady() {
			return false
		}
		for i := range st.Shards {
			for _, replica := range st.Shards[i].Replicas {
				if replica.Lag > 0 || len(st.Shards[i].Replicas) != 3 {
					return false
				}
			}
		}
		return true
	})
	r.wantCutOff(other)
	r.stop()
	r.verify(1)
}

// wantCutOff checks that a node says that it takes no requests while all other nodes are paused, and only then.
func (r *running) wantCutOff(n *node) {
	r.t.Helper()
	readiness := func() string {
		a := r.sendOnce(n, http.MethodGet, "/readyz", "")
		return fmt.Sprintf("%d %s", a.status, a.member(r.t, "status"))
	}
	if got := readiness(); got != "200 ok" {
		r.t.Errorf("before the others are paused: %s", got)
	}
	r.signalOthers(n, syscall.SIGSTOP)
	defer r.signalOthers(n, syscall.SIGCONT)
	testkit.WaitUntil(r.t, "the node is cut off", func() bool { return readiness() == "503 cut_off" })
	r.signalOthers(n, syscall.SIGCONT)
	testkit.WaitUntil(r.t, "the node takes requests again", func() bool { return readiness() == "200 ok" })
}

func (r *running) signalOthers(n *node, sig syscall.Signal) {
	for i := range r.box.Nodes {
		if other := &r.box.Nodes[i]; other.Name != n.Name {
			if err := syscall.Kill(other.PID, sig); err != nil {
				r.t.Error(err)
			}
		}
	}
}

// The commands show the cluster, move leads, and add and remove nodes. Wrong arguments are refused in one line.
func TestNodesJoinAndLeave(t *testing.T) {
	r := start(t, filepath.Join(t.TempDir(), "cluster"), 2)
	box := filepath.Join(r.dir, clusterFile)
	run := func(arguments ...string) (string, error) {
		out, err := exec.Command(r.binary, append([]string{"cluster"}, arguments...)...).CombinedOutput()
		return string(out), err
	}
	leads, other := r.leader(2)
	// A rotated administration token does not keep the next leader of the platform's shard from serving.
	rotated := r.operate(leads, http.MethodPost, "/api/v1/admin_tokens/rotate", "")
	if rotated.status >= http.StatusMultipleChoices {
		t.Fatalf("%d %s", rotated.status, rotated.body)
	}
	r.box.set("admin_token", rotated.member(t, "token"))
	if err := r.box.write(r.dir); err != nil {
		t.Fatal(err)
	}
	platform, next := r.leader(0)
	if out, err := run("transfer", "--sandbox", box, "0", next.Name); err != nil {
		t.Fatalf("%s to %s: %v: %s", platform.Name, next.Name, err, out)
	}
	testkit.WaitUntil(t, "the other node leads the platform's shard", func() bool { now, _ := r.leader(0); return now.Name == next.Name })
	if out, err := run("transfer", "--sandbox", box, "2", other.Name); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	testkit.WaitUntil(t, "the other node leads", func() bool { now, _ := r.leader(2); return now.Name == other.Name })
	for _, wrong := range [][]string{{"transfer", "--sandbox", box, "9", other.Name}, {"transfer", "--sandbox", box, "1", "n9"}, {"remove-node", "--sandbox", box, "n9"}, {"add-node", "--sandbox", box, "N!", "127.0.0.1:1"}} {
		if out, err := run(wrong...); err == nil || strings.Count(out, "\n") != 1 {
			t.Errorf("%v: %v, %s", wrong, err, out)
		}
	}
	// A fourth node. It is refused if it was started with another number of shards.
	n4 := r.planNode("n4")
	r.box.Shards++
	wrong, err := exec.Command(r.binary, r.box.nodeArguments(n4)...).CombinedOutput()
	r.box.Shards--
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 || !bytes.Contains(wrong, []byte("mizan: locked: node n")) || !bytes.Contains(wrong, []byte("--cluster-shards 2, and this node with --cluster-shards 3")) {
		t.Errorf("a node with another number of shards: %v, %s", err, wrong)
	}
	if log, err := os.ReadFile(leads.Log); err != nil || !bytes.Contains(log, []byte("node=n4")) {
		t.Errorf("the other nodes' logs do not say that a node was refused: %v", err)
	}
	r.addNode(n4)
	if a := r.pay(n4, uuid.NewString()); a.status != http.StatusCreated {
		t.Errorf("the fourth node answers %d %s", a.status, a.body)
	}
	first := r.box.Nodes[0].Name
	if out, err := run("remove-node", "--sandbox", box, "--url", n4.BaseURL, first); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	testkit.WaitUntil(t, "the removed node is no longer listed", func() bool {
		out, err := run("status", "--sandbox", box, "--url", n4.BaseURL)
		return err == nil && strings.Contains(out, "n4") && !strings.Contains(out, first+" ")
	})
	if a := r.pay(n4, uuid.NewString()); a.status != http.StatusCreated {
		t.Errorf("without %s: %d %s", first, a.status, a.body)
	}
}

// planNode makes a certificate for a further node, and plans it.
func (r *running) planNode(name string) *node {
	r.t.Helper()
	addresses, err := freeAddresses(3)
	if err != nil {
		r.t.Fatal(err)
	}
	r.mustRun("cluster", "certificates", "--nodes", name, "--out", r.box.Nodes[0].CertsDir)
	added := r.box.Nodes[0]
	added.Name, added.Data, added.Log = name, filepath.Join(r.dir, name), filepath.Join(r.dir, name+".log")
	added.BaseURL, added.Listen, added.Peer, added.Metrics = "http://"+addresses[0], addresses[0], addresses[1], addresses[2]
	r.box.Nodes = append(r.box.Nodes, added)
	return &r.box.Nodes[len(r.box.Nodes)-1]
}

// addNode starts a planned node, and adds it to the cluster.
func (r *running) addNode(n *node) {
	r.t.Helper()
	out, err := os.Create(n.Log)
	if err != nil {
		r.t.Fatal(err)
	}
	process := exec.Command(r.binary, r.box.nodeArguments(n)...)
	process.Stdout, process.Stderr = out, out
	if err := process.Start(); err != nil {
		r.t.Fatal(err)
	}
	n.PID = process.Process.Pid
	go func() { _ = process.Wait() }()
	if err := r.box.write(r.dir); err != nil { // so that the sandbox stops it
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		if r.t.Failed() {
			content, _ := os.ReadFile(n.Log)
			r.t.Logf("the log of node %s:\n%s", n.Name, content)
		}
	})
	testkit.WaitUntil(r.t, "node "+n.Name+" serves", func() bool { return isServing(r.t.Context(), n.BaseURL) })
	r.mustRun("cluster", "add-node", "--sandbox", filepath.Join(r.dir, clusterFile), n.Name, n.Peer)
}
