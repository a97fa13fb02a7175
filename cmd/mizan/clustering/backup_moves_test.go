package clustering

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
)

// proxyBefore forwards requests to a node. It calls fn before it forwards a request for a backup of the shard.
func (r *running) proxyBefore(n *node, shard int, fn func()) (baseURL string) {
	r.t.Helper()
	target, err := url.Parse(n.BaseURL)
	if err != nil {
		r.t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if strings.HasSuffix(request.URL.Path, "/backups") && request.Header.Get("X-Mizan-Shard") == strconv.Itoa(shard) {
			fn()
		}
		proxy.ServeHTTP(w, request)
	}))
	r.t.Cleanup(server.Close)
	return server.URL
}

// mixBackups makes a directory with backups that were not taken together, as scheduled backups are: the files of each shard come
// from one of the directories.
func mixBackups(t *testing.T, fromByShard ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for shard, from := range fromByShard {
		name := filepath.Join("shards", strconv.Itoa(shard))
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(from, name))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// handOver gives a shard another leader.
func (r *running) handOver(shard int) {
	r.t.Helper()
	_, other := r.leader(shard)
	r.mustRun("cluster", "transfer", "--sandbox", filepath.Join(r.dir, clusterFile), strconv.Itoa(shard), other.Name)
}

// wantLists checks how many lists a directory of backups has.
func wantLists(t *testing.T, dir string, want int) {
	t.Helper()
	if lists, err := filepath.Glob(filepath.Join(dir, "mizan-cluster-*.json")); err != nil || len(lists) != want {
		t.Errorf("the lists are %v, %v, want %d", lists, err, want)
	}
}

// An organization is moved between the moments of two shards' backups. A restore of them is refused. A backup that a move
// overlaps takes the shards again; from it, the cluster is restored with the organization in its new shard.
func TestMovesBetweenTheBackupsOfShards(t *testing.T) {
	const shards = 2
	r := start(t, filepath.Join(t.TempDir(), "cluster"), shards)
	first, org := &r.box.Nodes[0], r.value("organization_id")
	paid := make(map[string]string)
	payOnce := func() {
		txid := uuid.NewString()
		a := r.pay(first, txid)
		if a.status != http.StatusCreated {
			t.Fatalf("%d %s", a.status, a.body)
		}
		paid[txid] = a.member(t, "id")
	}
	backUp := func(baseURL, out string, flags ...string) (string, error) {
		return r.run(append([]string{"cluster", "backup", "--sandbox", filepath.Join(r.dir, clusterFile), "--url", baseURL, "--out", out}, flags...)...)
	}
	payOnce()
	before, during, after := filepath.Join(t.TempDir(), "before"), filepath.Join(t.TempDir(), "during"), filepath.Join(t.TempDir(), "after")
	if out, err := backUp(first.BaseURL, before, "--keyring", r.keyring()); err != nil {
		t.Fatalf("%v: %s", err, out)
	}

	// The organization moves when shard 1 has been backed up, but not shard 2. With the keyring, the backups are compared;
	// without, the moves that the nodes report, also if the shard has got another leader since.
	place := 1
	for _, c := range []struct {
		dir   string
		flags []string
	}{{during, nil}, {after, []string{"--keyring", r.keyring()}}, {after, []string{"--keyring", r.keyring(), "--incremental"}}} {
		hasMoved := false
		proxy := r.proxyBefore(first, 2, func() {
			if !hasMoved {
				hasMoved, place = true, 3-place
				r.mustMove(org, place)
				if c.flags == nil {
					r.handOver(3 - place)
				}
			}
		})
		out, err := backUp(proxy, c.dir, c.flags...)
		if err != nil || !strings.Contains(out, "backed up again: organization "+org) || !strings.Contains(out, "a backup of 3 shards") {
			t.Errorf("%v: a backup during a move: %v, %s", c.flags, err, out)
		}
		payOnce()
	}
	wantLists(t, during, 1)
	wantLists(t, after, 2)
	for shard, want := range []int{2, 2, 2} { // those that were replaced are not kept
		if files, err := filepath.Glob(filepath.Join(after, "shards", strconv.Itoa(shard), "*.backup")); err != nil || len(files) != want {
			t.Errorf("shard %d has the backups %v, %v", shard, files, err)
		}
	}
	if place != 2 {
		t.Fatalf("the organization is in shard %d", place)
	}

	// It moves each time: the backup is given up.
	for _, flags := range [][]string{nil, {"--keyring", r.keyring()}} {
		out := filepath.Join(t.TempDir(), "never")
		text, err := backUp(r.proxyBefore(first, 2, func() { place = 3 - place; r.mustMove(org, place) }), out, flags...)
		if lines := strings.Split(strings.TrimSpace(text), "\n"); err == nil || !strings.Contains(lines[len(lines)-1], "no moves under way") || !strings.Contains(text, "mizan: storage: organization "+org) {
			t.Errorf("%v: a backup that moves overlap each time: %v, %s", flags, err, text)
		}
		wantLists(t, out, 0)
	}
	if place == 1 {
		place = 2
		r.mustMove(org, place)
	}
	payOnce()
	last := filepath.Join(t.TempDir(), "last")
	if out, err := backUp(first.BaseURL, last, "--keyring", r.keyring()); err != nil || strings.Contains(out, "again") {
		t.Fatalf("%v: %s", err, out)
	}
	r.stop()

	r.wantMisplaced(mixBackups(t, last, before, last), org, "shards 1 and 2 both have it")
	r.wantMisplaced(mixBackups(t, last, last, before), org, "no shard's backup has it: it has left shard 1 for shard 2")
	for _, good := range []string{during, after, before, mixBackups(t, before, last, last)} {
		r.mustRun("cluster", "restore", "--from", good, "--data", filepath.Join(t.TempDir(), "node"), "--keyring", r.keyring())
	}

	dir := filepath.Join(t.TempDir(), "restored")
	restoredBox := r.planRestored(dir, "m1", "m2", "m3")
	for i := range restoredBox.Nodes {
		r.mustRun("cluster", "restore", "--from", last, "--data", restoredBox.Nodes[i].Data, "--keyring", r.keyring())
	}
	restored := start(t, dir, shards)
	for i := range restored.box.Nodes {
		n := &restored.box.Nodes[i]
		restored.wantPayments(n, paid)
		if a := restored.pay(n, uuid.NewString()); a.status != http.StatusCreated || a.header.Get("x-mizan-shard") != "2" {
			t.Errorf("%s: a new payment is %d %s in shard %s", n.Name, a.status, a.body, a.header.Get("x-mizan-shard"))
		}
	}
	restored.mustMove(org, 1)
	restored.wantPayments(&restored.box.Nodes[0], paid)
	restored.stop()
	restored.verify(shards)
}

// wantMisplaced checks that backups are not restored together, and that nothing is left of the attempt.
func (r *running) wantMisplaced(from, org, what string) {
	r.t.Helper()
	parent := r.t.TempDir()
	out, err := r.run("cluster", "restore", "--from", from, "--data", filepath.Join(parent, "node"), "--keyring", r.keyring())
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err == nil || len(lines) != 2 || !strings.HasPrefix(lines[0], "mizan: storage: organization "+org+": ") || !strings.Contains(lines[0], what) || !strings.Contains(lines[1], "choose other moments with --at, or back up again") {
		r.t.Errorf("%q is not refused: %v, %s", what, err, out)
	}
	if entries, _ := os.ReadDir(parent); len(entries) != 0 {
		r.t.Errorf("the refused restore leaves %v", entries)
	}
}
