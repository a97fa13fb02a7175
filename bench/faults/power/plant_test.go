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

// plantAnswers is how many responses come before the cut of a server that does not sync.
const plantAnswers = 50

// withoutSyncs returns a program that is the server, but whose syncs do nothing and succeed.
func withoutSyncs(t *testing.T, dir string) string {
	t.Helper()
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skip("no server without syncs: ", err)
	}
	// With -D the server and not strace is the process that was started, so that it can be killed.
	script := "#!/bin/sh\nexec " + strace + " -D -f --seccomp-bpf -o /dev/null -e trace=fsync,fdatasync,msync -e inject=fsync,fdatasync,msync:retval=0 " +
		testkit.Binary(t) + ` "$@"` + "\n"
	path := filepath.Join(dir, "mizan-without-syncs")
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// A server that acknowledges what it has not synced must be caught. Otherwise the campaign could not find that a server
// loses what it has acknowledged.
func TestServerWithoutSyncsIsCaught(t *testing.T) {
	if testing.Short() {
		t.Skip("cuts the power of servers for some seconds")
	}
	sum, kind := new(cases), available(t)[0]
	c := newCampaign(t, kind, testseed.Seed(t), false, sum)
	s, _ := c.start() // a store that is durable
	if err := s.Stop(time.Minute); err != nil {
		t.Fatal(err)
	}
	c.binary = withoutSyncs(t, c.root)
	s, a := c.start()
	stop := c.work(a, nil)
	testkit.WaitUntil(t, "enough responses", func() bool { return c.clients.Answered() >= plantAnswers })
	c.volume.Cut()
	c.kill(s)
	stop()
	if _, err := c.volume.Reboot(disk.LoseAll, rand.New(rand.NewPCG(1, 1))); err != nil {
		t.Fatal(err)
	}
	if err := c.clients.Flush(); err != nil {
		t.Fatal(err)
	}
	outcome := faults.Caught
	if r := c.verify(c.dir); r.Exit == 0 || !strings.Contains(r.Stdout, "rule 1 FAIL") {
		t.Errorf("audit verify: exit %d\n%s%s", r.Exit, r.Stdout, r.Stderr)
		outcome = faults.Silent
	}
	sum.byPlace.Add(kind+", a server that does not sync", outcome, "everything that was not flushed is lost")
	trial.Report(t, &sum.byPlace)
}
