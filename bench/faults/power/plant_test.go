package power

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mizan/bench/faults"
	"mizan/bench/faults/power/disk"
	"mizan/bench/faults/trial"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

// answersBeforeCut is the number of responses after which the power of a server that does not sync is cut.
const answersBeforeCut = 50

// withoutSyncs returns a program that runs the server in such a way that its syncs do nothing and succeed.
func withoutSyncs(t *testing.T, dir string) string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no server without syncs: ", err)
	}
	// With -D the started process is the server, not strace, so that the campaign can kill the server.
	script := "#!/bin/sh\nexec " + strace + " -D -f --seccomp-bpf -o /dev/null -e trace=fsync,fdatasync,msync -e inject=fsync,fdatasync,msync:retval=0 " +
		testkit.Binary(t) + ` "$@"` + "\n"
	path := filepath.Join(dir, "mizan-without-syncs")
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// The campaign must catch a server that acknowledges writes without syncing them. Otherwise it would not find a server that
// loses acknowledged writes.
func TestServerWithoutSyncsIsCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("cuts the power of servers for some seconds")
	}
	sum, kind := new(cases), available(t)[0]
	c := newCampaign(t, kind, testseed.Seed(t), false, sum)
	s, _ := c.start() // creates the store with working syncs
	if err := s.Stop(time.Minute); err != nil {
		t.Fatal(err)
	}
	c.binary = withoutSyncs(t, c.root)
	s, a := c.start()
	stop := c.work(a, nil)
	testkit.WaitUntil(t, "enough responses", func() bool { return c.clients.Answered() >= answersBeforeCut })
	c.volume.Cut()
	c.kill(s)
	stop()
	if _, err := c.volume.Reboot(disk.LoseAll, rand.New(rand.NewPCG(1, 1))); err != nil {
		t.Fatal(err)
	}
	if err := c.clients.Flush(); err != nil {
		t.Fatal(err)
	}
	outcome := faults.Detected
	if r := c.verify(c.dir); r.Exit == 0 || !strings.Contains(r.Stdout, "rule 1 FAIL") {
		t.Errorf("audit verify: exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
		outcome = faults.Silent
	}
	sum.byPlace.Add(kind+", a server that does not sync", outcome, "everything that was not flushed is lost")
	trial.Report(t, &sum.byPlace)
}
