package handles

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mizan/bench/faults"
	"mizan/bench/faults/trial"
	"mizan/bench/server"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

const (
	readyTimeout  = 20 * time.Second
	connections   = 600 // number of idle connections
	maxMore       = 40  // after a limit is lowered, the server has fewer than maxMore free handles
	limitsInTest  = 1   // number of limits that the test without MIZAN_SOAK draws from the list
	leastServing  = 1024
	limitAsBefore = 20_000
)

func TestMain(m *testing.M) { testkit.Main(m) }

// limits returns the limits of handles with which the tests start servers. With a limit of leastServing or more, the server must
// serve. With a lower limit, it must refuse to start: the Go runtime, the store or the server lacks handles.
func limits() (list []int) {
	for n := 3; n <= 256; n++ {
		if n < 16 || n%4 == 0 {
			list = append(list, n)
		}
	}
	return append(list, 400, 600, 800, 1000, 1023, leastServing, 1025, 1032, 1100, 1200)
}

func TestFewHandlesLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts ten servers")
	}
	seed := testseed.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	list := limits()
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	campaign(t, trial.NewTemplate(t, seed, trial.Small), random, append(list[:limitsInTest], leastServing), 1, 0)
}

// TestSoakHandles tries all limits. For the rest of the time in MIZAN_SOAK it lowers the limit of running servers.
func TestSoakHandles(t *testing.T) {
	duration, seed := testseed.SoakTime(t), testseed.Seed(t)
	campaign(t, trial.NewTemplate(t, seed, trial.Options{}), rand.New(rand.NewPCG(seed, 0)), limits(), 1, duration)
}

// campaign starts a server with each limit in list. It also lowers the limits of running servers: at least as often as lowered
// says, and until duration is over.
func campaign(t *testing.T, template *trial.Template, random *rand.Rand, list []int, lowered int, duration time.Duration) {
	testkit.NotUnderRace(t, "the detector needs handles of its own")
	var table faults.Table
	ends := time.Now().Add(duration)
	add := func(kind string, n int, try func(*testing.T, *trial.Template, *rand.Rand, int) (faults.Outcome, string)) {
		t.Run(fmt.Sprintf("%s/%d", kind, n), func(t *testing.T) {
			outcome, description := try(t, template, random, n)
			t.Log(description)
			table.Add(kind, outcome, description)
		})
	}
	for _, n := range list {
		add("limit from the start", n, fromStart)
		if duration > 0 {
			add("limit lowered under load", random.IntN(maxMore), whileServing)
		}
	}
	for n := 0; n < lowered || time.Now().Before(ends); n++ {
		add("limit lowered under load", random.IntN(maxMore), whileServing)
	}
	trial.Report(t, &table)
}

// fromStart starts a server with a limit of handles, and makes requests while many other connections are open.
func fromStart(t *testing.T, template *trial.Template, random *rand.Rand, limit int) (faults.Outcome, string) {
	c := template.Begin(t)
	t.Cleanup(c.Close)
	c.Book.ExpectsFault = true
	s := c.Launch("/bin/sh", "-c", `ulimit -n "$0" && exec "$@"`, strconv.Itoa(limit))
	outcome := faults.Refused
	if c.WaitReady(s, readyTimeout) {
		outcome = faults.Intact
		c.Load(s, trial.LoadOptions{Clients: 16, Requests: 100, Timeout: 10 * time.Second, Random: random, Meanwhile: func() { connect(t, s) }})
		if n := c.Book.Counts(); n.Answered == n.Refused {
			t.Errorf("nothing was answered: %+v", n)
		}
	}
	e := c.End(s)
	description := fmt.Sprintf("limit %d: %v", limit, e)
	if err := e.Fault(); err != nil || e.Hung || (outcome == faults.Intact) == e.EndedByItself {
		t.Errorf("%s: %v\n%s", description, err, e.Log)
	}
	if isServing := outcome == faults.Intact; isServing != (limit >= leastServing) {
		t.Errorf("%s: serves %v", description, isServing)
	}
	if err := c.Check(random); err != nil {
		return faults.Silent, fmt.Sprintf("%s: %v", description, err)
	}
	return outcome, description
}

// whileServing lowers the limit of a server under load, so that the server has as many free handles as the parameter more says.
// Later it raises the limit again.
func whileServing(t *testing.T, template *trial.Template, random *rand.Rand, more int) (faults.Outcome, string) {
	c := template.Begin(t)
	t.Cleanup(c.Close)
	c.Book.ExpectsFault = true
	s := c.Start()
	limit := 0
	c.Load(s, trial.LoadOptions{Clients: 16, Requests: 150, MaxUnanswered: 60, Timeout: 3 * time.Second, Random: random, Meanwhile: func() {
		limit = openHandles(t, s) + more
		setLimit(t, s, limit)
		connect(t, s)
	}})
	c.Backup(s)
	outcome, description := faults.Intact, fmt.Sprintf("%d more handles: %+v", more, c.Book.Counts())
	if trial.IsRunning(s) {
		setLimit(t, s, limitAsBefore)
		if err := c.AwaitRecovery(s, random); err != nil {
			t.Errorf("after the limit was raised again: %v\n%s", err, c.Log())
		}
	}
	e := c.End(s)
	if e.EndedByItself || e.Code != 0 {
		outcome = faults.Refused
	}
	description += "; " + e.String()
	if err := e.Fault(); err != nil || e.Hung {
		t.Errorf("%s: %v\n%s", description, err, e.Log)
	}
	if err := c.Check(random); err != nil {
		return faults.Silent, fmt.Sprintf("%s: %v", description, err)
	}
	return outcome, description
}

// connect opens idle connections, which stay open until the end of the test. Some may be refused.
func connect(t *testing.T, s *server.Server) {
	address := strings.TrimPrefix(s.Sandbox.BaseURL, "http://")
	for range connections {
		conn, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return
		}
		t.Cleanup(func() { _ = conn.Close() })
	}
}

func openHandles(t *testing.T, s *server.Server) int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.PID()))
	if err != nil {
		return 0 // the server has ended
	}
	return len(entries)
}

func setLimit(t *testing.T, s *server.Server, n int) {
	limit := unix.Rlimit{Cur: uint64(n), Max: limitAsBefore}
	if err := unix.Prlimit(s.PID(), unix.RLIMIT_NOFILE, &limit, nil); err != nil && trial.IsRunning(s) {
		t.Errorf("limit %d: %v", n, err)
	}
}
