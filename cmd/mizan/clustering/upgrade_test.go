package clustering

import (
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"mizan/internal/testkit"
)

// The nodes of a cluster are replaced by those of another release with the same schema, one after the other, while clients pay.
// Nothing is lost or happens twice, and clients get no other answers than 201 and 503.
func TestNodesAreUpgradedOneByOne(t *testing.T) {
	const shards, version = 2, "v99.0.0-test"
	r := start(t, filepath.Join(t.TempDir(), "cluster"), shards)
	next := testkit.BinaryOfVersion(t, version)
	load := r.startPayers(4)
	load.await(20)
	for i := range r.box.Nodes {
		n := &r.box.Nodes[i]
		if err := syscall.Kill(n.PID, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		testkit.WaitUntil(t, n.Name+" has stopped", func() bool { return !isRunning(n.PID, n.Data) })
		load.await(5) // the other two go on
		if out, err := exec.Command(next, "cluster", "start", "--data", r.dir, "--node", n.Name).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		fresh, err := readSandbox(r.dir)
		if err != nil {
			t.Fatal(err)
		}
		n.PID = fresh.Nodes[i].PID
		r.awaitUpgraded(i+1, version)
		load.await(5)
	}
	load.stop()
	acknowledged := load.acknowledged()
	for i := range r.box.Nodes {
		r.wantPayments(&r.box.Nodes[i], acknowledged)
	}
	r.stop()
	r.verify(shards)
	r.wantOneChargeEach()
}

// awaitUpgraded waits until so many nodes have the version, every shard has a leader, and no replica lags far behind.
func (r *running) awaitUpgraded(count int, version string) {
	r.t.Helper()
	testkit.WaitUntil(r.t, "the upgraded node has caught up", func() bool {
		st, err := askStatus(r.t.Context(), r.box.Nodes[0].BaseURL, r.value("admin_token"))
		if err != nil || !st.isReady() {
			return false
		}
		upgraded := 0
		for i := range st.Nodes {
			if st.Nodes[i].Version == version {
				upgraded++
			}
			if !st.hasCaughtUp(st.Nodes[i].Name) {
				return false
			}
		}
		return upgraded == count && len(st.Nodes) == len(r.box.Nodes)
	})
}
