package inject

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mizan/bench/faults"
	"mizan/bench/faults/trial"
	"mizan/bench/server"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

const (
	casesInTest = 2 // number of cases from the shuffled list in the test without MIZAN_SOAK

	readyTimeout   = 10 * time.Second
	requestTimeout = 3 * time.Second
	maxNth         = 60
)

func TestMain(m *testing.M) { testkit.Main(m) }

// injection is one fault.
type injection struct {
	call, errno, when string
	atStart           bool // calls are counted from the start of the process; false: from a moment under load
	filesOnly         bool // only calls on files of the store fail
}

func (i injection) String() string {
	phase, scope := "serving", ""
	if i.atStart {
		phase = "starting"
	}
	if i.filesOnly {
		scope = ",files"
	}
	return fmt.Sprintf("%s:%s:%s,%s%s", i.call, i.errno, i.when, phase, scope)
}

// silencesStderr tells whether the fault may prevent the server from writing to stderr why it ends.
func (i injection) silencesStderr() bool { return i.call == "write" && !i.filesOnly }

// kind returns the name of the row of the table in which the case is counted.
func (i injection) kind() string { return i.call + " " + i.errno }

// onceFailed are faults with which earlier versions of the server have failed a test. They are tried in every run.
var onceFailed = []injection{
	{call: "getsockname", errno: "ENOMEM", when: "1+", atStart: true}, // the server panicked, because the listener had no address
	{call: "getdents64", errno: "EIO", when: "17+", atStart: true},    // Badger ended the process with a message of its own
}

// injections lists all faults in a random order.
func injections(random *rand.Rand) (list []injection) {
	for _, call := range slices.Sorted(maps.Keys(calls)) {
		for _, errno := range errorsOf(call) {
			for _, atStart := range []bool{true, false} {
				for _, filesOnly := range []bool{false, true} {
					if filesOnly && !onFilesAndSockets[call] {
						continue
					}
					nth := 2 + int(random.Int64N(maxNth-1)*random.Int64N(maxNth-1)/(maxNth-1)) // a small nth is more likely
					for _, when := range []string{"1", fmt.Sprint(nth), "1+", fmt.Sprintf("%d+", nth)} {
						list = append(list, injection{call, errno, when, atStart, filesOnly})
					}
				}
			}
		}
	}
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// The table has every system call that the server makes.
func TestEveryCallOfTheServerIsKnown(t *testing.T) {
	tracer := trial.Tracer(t)
	testkit.NotUnderRace(t, "the detector makes calls of its own")
	seed := testseed.Seed(t)
	template := trial.NewTemplate(t, seed, trial.Small)
	for _, isNew := range []bool{true, false} {
		c := template.Begin(t)
		t.Cleanup(c.Close)
		if isNew {
			c.Empty()
		}
		file := filepath.Join(t.TempDir(), "calls")
		s := c.Launch(tracer, "-D", "-f", "-qqq", "-c", "-S", "name", "-U", "calls,name", "-o", file)
		if !c.WaitReady(s, readyTimeout) {
			t.Fatal(c.End(s))
		}
		if !isNew {
			c.Load(s, trial.LoadOptions{Clients: 8, Requests: 100, Random: rand.New(rand.NewPCG(seed, 2))})
			c.Backup(s)
		}
		if e := c.End(s); e.Code != 0 {
			t.Fatal(e)
		}
		trial.WaitForFile(t, file, "total")
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for line := range strings.Lines(string(content)) {
			fields := strings.Fields(line)
			if len(fields) < 2 || !regexp.MustCompile(`^\d+$`).MatchString(fields[0]) || fields[len(fields)-1] == "total" {
				continue
			}
			seen++
			if _, known := calls[fields[len(fields)-1]]; !known {
				t.Errorf("the server makes the call %s, which is not in the table", fields[len(fields)-1])
			}
		}
		if seen < 30 {
			t.Errorf("strace counted %d kinds of calls:\n%s", seen, content)
		}
	}
}

func TestFailedSystemCallsLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts ten servers")
	}
	campaign(t, testseed.Seed(t), trial.Small, casesInTest, 0)
}

// TestSoakInject runs all cases, again and again with other draws, for the time in MIZAN_SOAK.
func TestSoakInject(t *testing.T) {
	duration := testseed.SoakTime(t)
	campaign(t, testseed.Seed(t), trial.Options{}, 0, duration)
}

// campaign runs the first count cases of a random list and those in onceFailed. If count is 0, it runs cases until duration is
// over.
func campaign(t *testing.T, seed uint64, o trial.Options, count int, duration time.Duration) {
	tracer := trial.Tracer(t)
	testkit.NotUnderRace(t, "strace and the detector are too slow together")
	template := trial.NewTemplate(t, seed, o)
	var table faults.Table
	var notReached atomic.Int64 // number of cases in which no call failed, because the server made too few of them
	ends := time.Now().Add(duration)
	pattern := regexp.MustCompile(os.Getenv("MIZAN_CASE"))
	t.Run("cases", func(t *testing.T) {
		for n := uint64(0); n == 0 || count == 0 && time.Now().Before(ends); n++ {
			list := injections(rand.New(rand.NewPCG(seed, n)))
			if count > 0 {
				list = slices.Concat(onceFailed, list[:count])
			}
			// Each round is a test of its own, so that it ends before the next one begins.
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				for k, i := range list {
					if !pattern.MatchString(i.String()) {
						continue
					}
					t.Run(i.String(), func(t *testing.T) {
						t.Parallel()
						if count > 0 || time.Now().Before(ends) {
							try(t, template, tracer, i, rand.New(rand.NewPCG(seed, n<<32+uint64(k)+1000)), &table, &notReached)
						}
					})
				}
			})
		}
	})
	t.Logf("in %d more cases no call failed: the server made none of the kind, or too few", notReached.Load())
	trial.Report(t, &table)
}

// try runs one case.
func try(t *testing.T, template *trial.Template, tracer string, i injection, random *rand.Rand, table *faults.Table, notReached *atomic.Int64) {
	c := template.Begin(t)
	t.Cleanup(c.Close)
	c.Book.ExpectsFault = true
	args := []string{"-e", "trace=" + i.call, "-e", fmt.Sprintf("inject=%s:error=%s:when=%s", i.call, i.errno, i.when)}
	if i.filesOnly {
		for _, name := range trial.Files(t, c.Dir) {
			args = append(args, "-P", filepath.Join(c.Dir, name))
		}
	}
	load := trial.LoadOptions{Clients: 6, Requests: 40, MaxUnanswered: 12, Timeout: requestTimeout, Random: random}
	ready := true
	var s *server.Server
	if i.atStart {
		s = c.Launch(c.Traced(tracer, args...)...)
		if ready = c.WaitReady(s, readyTimeout); ready {
			c.Load(s, load)
		}
	} else {
		s = c.Start()
		load.Meanwhile = func() { c.Attach(s, tracer, args...) }
		c.Load(s, load)
	}
	// After that many unanswered requests the server does not respond, so the backup command would wait for a long time.
	if ready && c.Book.Counts().Unanswered < load.MaxUnanswered {
		c.Backup(s)
	}
	e := c.End(s)
	failed := c.Injected(s)
	outcome := faults.Intact
	if e.EndedByItself || !ready || e.Code != 0 {
		outcome = faults.Refused
	}
	description := fmt.Sprintf("%v: %v", i, e)
	if err := c.Check(random); err != nil {
		t.Errorf("%s: %v\nkept in %s\n%s", description, err, c.KeepFiles(), e.Log)
		outcome = faults.Silent
	} else if err := e.Fault(); err != nil && !i.silencesStderr() || e.Hung {
		t.Errorf("%s: %v\n%s", description, err, e.Log)
	}
	t.Logf("ready %v, %d calls failed, %v, answers %+v", ready, failed, e, c.Book.Counts())
	if failed > 0 || outcome == faults.Silent {
		table.Add(i.kind(), outcome, description)
	} else {
		notReached.Add(1)
	}
}
