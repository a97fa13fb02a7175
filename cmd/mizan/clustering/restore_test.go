package clustering

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"mizan/internal/peer"
	"mizan/internal/testkit"
)

// planRestored plans another sandbox with other nodes, which knows the keys and tokens of this one. The provider's log is a copy
// of this one's.
func (r *running) planRestored(dir string, names ...string) *sandbox {
	r.t.Helper()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	copyFile := func(name string) {
		content, err := os.ReadFile(filepath.Join(r.dir, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), content, 0o600)
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	copyFile(keyringFile)
	box, err := (&sandboxCommand{Nodes: len(names), Shards: r.box.Shards}).plan(dir)
	if err != nil {
		r.t.Fatal(err)
	}
	copyFile(tokenFile)
	for i, name := range names {
		box.Nodes[i].Name, box.Nodes[i].Data, box.Nodes[i].Log = name, filepath.Join(dir, name), filepath.Join(dir, name+".log")
	}
	if err := peer.MakeCertificates(filepath.Join(dir, certificatesDir), names, time.Now()); err != nil {
		r.t.Fatal(err)
	}
	box.values = r.box.values
	if err := os.CopyFS(box.Simulator.Data, os.DirFS(r.box.Simulator.Data)); err != nil {
		r.t.Fatal(err)
	}
	if err := box.write(dir); err != nil {
		r.t.Fatal(err)
	}
	return box
}

// flakyProxy forwards requests to a node, and breaks off the first backup after some bytes.
func (r *running) flakyProxy(n *node) (baseURL string, broken *atomic.Bool) {
	r.t.Helper()
	target, err := url.Parse(n.BaseURL)
	if err != nil {
		r.t.Fatal(err)
	}
	broken = new(atomic.Bool)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(response *http.Response) error {
		if strings.HasSuffix(response.Request.URL.Path, "/backups") && broken.CompareAndSwap(false, true) {
			response.Body = struct {
				io.Reader
				io.Closer
			}{io.LimitReader(response.Body, 100), response.Body}
		}
		return nil
	}
	server := httptest.NewServer(proxy)
	r.t.Cleanup(server.Close)
	return server.URL, broken
}

// A cluster under load is backed up, twice, also if a shard's backup breaks off. Other nodes are restored from the backup. They
// have everything that was acknowledged before the backup began, and continue.
func TestBackedUpClusterIsRestoredToOtherNodes(t *testing.T) {
	const shards = 2
	r := start(t, filepath.Join(t.TempDir(), "cluster"), shards)
	box, backups := filepath.Join(r.dir, clusterFile), filepath.Join(t.TempDir(), "backups")
	load := r.startPayers(4)
	load.await(20)
	first := load.acknowledged()
	proxy, broken := r.flakyProxy(&r.box.Nodes[0])
	out := r.mustRun("cluster", "backup", "--sandbox", box, "--url", proxy, "--out", backups, "--keyring", r.keyring())
	if !broken.Load() || !strings.Contains(out, "is tried again") || !strings.Contains(out, "a backup of 3 shards") {
		t.Errorf("the backup printed %s", out)
	}
	between := time.Now().UTC()
	load.await(20)
	second := load.acknowledged()
	leads, other := r.leader(1)
	if err := syscall.Kill(leads.PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	out = r.mustRun("cluster", "backup", "--sandbox", box, "--url", other.BaseURL, "--out", backups, "--incremental")
	if strings.Count(out, ": incremental, of ") != 3 {
		t.Errorf("the second backup printed %s", out)
	}
	load.stop()
	afterwards := load.acknowledged()
	r.stop()

	names := []string{"m1", "m2", "m3"}
	dir := filepath.Join(t.TempDir(), "restored")
	restoredBox := r.planRestored(dir, names...)
	for i := range restoredBox.Nodes {
		r.mustRun("cluster", "restore", "--from", backups, "--data", restoredBox.Nodes[i].Data, "--keyring", r.keyring())
	}
	restored := start(t, dir, shards)
	for i := range restored.box.Nodes {
		restored.wantPayments(&restored.box.Nodes[i], second)
	}
	restored.wantPayments(&restored.box.Nodes[0], first)
	// Payments that were acknowledged after the backup are repeated with the same txid, and happen once.
	for txid := range afterwards {
		if a := restored.pay(&restored.box.Nodes[1], txid); a.status != http.StatusCreated {
			t.Errorf("txid %s is %d %s", txid, a.status, a.body)
		}
	}
	restored.wantNodeOfAnotherBackupRefused(backups, between)
	// Without the stopped node the others could not decide if one more left.
	if out, err := restored.run("cluster", "remove-node", "--sandbox", filepath.Join(dir, clusterFile), "m2"); err == nil || !strings.Contains(out, "refused (409)") || !strings.Contains(out, "do not answer: m3") {
		t.Errorf("remove-node: %v, %s", err, out)
	}
	// A further node gets a copy of what was restored.
	added := restored.planNode("m4")
	restored.addNode(added)
	restored.wantPayments(added, second)
	restored.stop()
	restored.verify(shards)
	restored.wantOneChargeEach()
}

// wantNodeOfAnotherBackupRefused restores a node from the first backup instead of the second. The other nodes must not work with it.
func (r *running) wantNodeOfAnotherBackupRefused(backups string, at time.Time) {
	r.t.Helper()
	n, other := &r.box.Nodes[2], &r.box.Nodes[0]
	signalProcess(n.PID, n.Data)
	testkit.WaitUntil(r.t, n.Name+" has stopped", func() bool { return !isRunning(n.PID, n.Data) })
	if err := os.RemoveAll(n.Data); err != nil {
		r.t.Fatal(err)
	}
	r.mustRun("cluster", "restore", "--from", backups, "--at", at.Format(time.RFC3339Nano), "--data", n.Data, "--keyring", r.keyring())
	applied := r.appliedOf(n)
	process := exec.Command(r.binary, r.box.nodeArguments(n)...)
	out := new(bytes.Buffer)
	process.Stderr = out
	if err := process.Start(); err != nil {
		r.t.Fatal(err)
	}
	testkit.WaitUntil(r.t, "a node that was restored from another backup is refused", func() bool {
		log, err := os.ReadFile(other.Log)
		return err == nil && strings.Contains(string(log), "a node is refused") && strings.Contains(string(log), "node="+n.Name)
	})
	for range 5 {
		if a := r.pay(other, uuid.NewString()); a.status != http.StatusCreated {
			r.t.Errorf("without %s: %d %s", n.Name, a.status, a.body)
		}
	}
	if err := process.Process.Signal(syscall.SIGTERM); err != nil {
		r.t.Fatal(err)
	}
	if err := process.Wait(); err != nil {
		r.t.Errorf("the refused node ended with %v", err)
	}
	if !strings.Contains(out.String(), "a node is refused") {
		r.t.Errorf("the refused node's log is %s", out)
	}
	if now := r.appliedOf(n); now != applied {
		r.t.Errorf("the refused node has changed from %s to %s", applied, now)
	}
}

// appliedOf returns the checker's figures of a stopped node's store of shard 1.
func (r *running) appliedOf(n *node) string {
	r.t.Helper()
	return r.mustRun("audit", "verify", "--data", filepath.Join(n.Data, "shards", "1", "store"), "--keyring", r.keyring())
}

// Backups that were changed, truncated or mixed are refused in one line that names the file, and leave no directory.
func TestWrongBackupsOfAClusterAreRefused(t *testing.T) {
	r := start(t, filepath.Join(t.TempDir(), "cluster"), 1)
	if a := r.pay(&r.box.Nodes[0], uuid.NewString()); a.status != http.StatusCreated {
		t.Fatalf("%d %s", a.status, a.body)
	}
	backups := filepath.Join(t.TempDir(), "backups")
	var manifest struct{ Shards []struct{ File string } }
	listed := r.mustRun("cluster", "backup", "--sandbox", filepath.Join(r.dir, clusterFile), "--out", backups, "--json")
	if err := json.Unmarshal([]byte(listed), &manifest); err != nil || len(manifest.Shards) != 2 {
		t.Fatalf("%v: %s", err, listed)
	}
	r.stop()
	lists, err := filepath.Glob(filepath.Join(backups, "mizan-cluster-*.json"))
	if err != nil || len(lists) != 1 {
		t.Fatal(lists, err)
	}
	file, list := manifest.Shards[1].File, filepath.Base(lists[0])
	change := func(name string, fn func([]byte) []byte) func(string) {
		return func(dir string) {
			path := filepath.Join(dir, name)
			content, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, fn(content), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	remove := func(name string) func(string) {
		return func(dir string) {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	flip := func(b []byte) []byte { b[len(b)/2] ^= 1; return b }
	cut := func(b []byte) []byte { return b[:len(b)/2] }
	for name, c := range map[string]struct {
		damage []func(dir string)
		want   string
	}{
		"changed backup":            {[]func(string){change(file, flip)}, file},
		"truncated backup":          {[]func(string){change(file, cut)}, file},
		"missing backup":            {[]func(string){remove(file)}, file},
		"changed list":              {[]func(string){change(list, flip)}, list},
		"truncated list":            {[]func(string){change(list, cut)}, list},
		"changed, without a list":   {[]func(string){remove(list), change(file, flip)}, file},
		"missing shard, no list":    {[]func(string){remove(list), remove("shards/1")}, "shard 1"},
		"shard of another number":   {[]func(string){remove(list), func(dir string) { copyShard(t, dir, "0", "1") }}, "it is a backup of shard 0 of 2, and not of shard 1 of 2"},
		"no backup of a cluster":    {[]func(string){remove(list), remove("shards")}, "no backup of a cluster"},
		"backup of a single server": {[]func(string){remove(list), func(dir string) { r.backUpSingleServer(filepath.Join(dir, "shards", "0")) }}, "single server"},
	} {
		dir, parent := filepath.Join(t.TempDir(), "backups"), t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(backups)); err != nil {
			t.Fatal(err)
		}
		for _, damage := range c.damage {
			damage(dir)
		}
		out, err := r.run("cluster", "restore", "--from", dir, "--data", filepath.Join(parent, "node"), "--keyring", r.keyring())
		last := out[strings.LastIndexByte(strings.TrimSpace(out), '\n')+1:]
		if err == nil || !strings.Contains(last, c.want) || !strings.HasPrefix(last, "mizan: ") {
			t.Errorf("%s: %v, %s", name, err, out)
		}
		if entries, _ := os.ReadDir(parent); len(entries) != 0 {
			t.Errorf("%s leaves %v", name, entries)
		}
	}
	// Nodes and single servers do not take each other's backups and directories.
	if out, err := r.run("restore", "--from", filepath.Join(backups, file), "--data", filepath.Join(t.TempDir(), "single"), "--keyring", r.keyring()); err == nil || !strings.Contains(out, "shard 1 of a cluster") {
		t.Errorf("a shard as a single server: %v, %s", err, out)
	}
	if out, err := r.run("serve", "--sandbox", "--listen", "127.0.0.1:0", "--tls", "off", "--data", r.box.Nodes[0].Data); err == nil || !strings.Contains(out, "node of a cluster") {
		t.Errorf("a single server in a node's directory: %v, %s", err, out)
	}
	n := r.box.Nodes[0]
	r.box.Shards = 2
	if out, err := r.run(r.box.nodeArguments(&n)...); err == nil || !strings.Contains(out, "--cluster-shards 1, not 2") {
		t.Errorf("a node with another number of shards: %v, %s", err, out)
	}
}

// With --backup-dir, the leader of each shard writes backups into a folder for that shard. A cluster is restored from them, too.
func TestScheduledBackupsOfAClusterAreRestored(t *testing.T) {
	backups := t.TempDir()
	t.Setenv("MIZAN_BACKUP_DIR", backups)
	r := start(t, filepath.Join(t.TempDir(), "cluster"), 1)
	testkit.WaitUntil(t, "a scheduled backup of each shard", func() bool {
		for _, shard := range []string{"0", "1"} {
			if found, err := filepath.Glob(filepath.Join(backups, "shards", shard, "*.backup")); err != nil || len(found) == 0 {
				return false
			}
		}
		return true
	})
	r.stop()
	data := filepath.Join(t.TempDir(), "node")
	if out := r.mustRun("cluster", "restore", "--from", backups, "--data", data, "--keyring", r.keyring()); !strings.Contains(out, "2 shards of backup") {
		t.Errorf("the restore printed %s", out)
	}
	r.box.Nodes = []node{{Data: data}}
	r.verify(1)
}

// copyShard replaces the backups of a shard by those of another one.
func copyShard(t *testing.T, dir, from, to string) {
	t.Helper()
	target := filepath.Join(dir, "shards", to)
	if err := os.RemoveAll(target); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(target, os.DirFS(filepath.Join(dir, "shards", from))); err != nil {
		t.Fatal(err)
	}
}

// backUpSingleServer replaces the content of a folder by a backup of a single server with the same keyring.
func (r *running) backUpSingleServer(dir string) {
	r.t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		r.t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	server := testkit.Start(r.t, testkit.Options{Flags: []string{"--keyring", r.keyring()}})
	r.mustRun("backup", "--sandbox", server.Dir, "--to", dir)
	if out, err := r.run("cluster", "backup", "--sandbox", server.Dir, "--out", r.t.TempDir()); err == nil || !strings.Contains(out, "is a single server") {
		r.t.Errorf("a backup of a cluster that is none: %v, %s", err, out)
	}
	server.Stop()
}
