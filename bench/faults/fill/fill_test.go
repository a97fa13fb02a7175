package fill

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mizan/bench/faults"
	"mizan/bench/faults/trial"
	"mizan/bench/server"
	"mizan/internal/testkit"
	"mizan/internal/testseed"
)

const (
	diskSize     = "1g" // large enough: with less than some hundred MiB free, the server refuses commands
	readyTimeout = 20 * time.Second
)

func TestMain(m *testing.M) { testkit.Main(m) }

// way is a way in which the disk is filled.
type way struct {
	name        string
	beforeStart bool
	inSteps     bool  // free space shrinks in steps, so that the load meets each threshold of the server; false: at once
	maxLeave    int64 // bytes that stay free are a random number below maxLeave; 0: none
	minFree     string
}

var ways = []way{
	{"at once, nothing left", false, false, 0, "1KiB"},
	{"at once, some pages left", false, false, 64 << 10, "1KiB"},
	{"at once, a bound of free space", false, false, 512 << 10, "1MiB"},
	{"in steps", false, true, 0, "1KiB"},
	{"in steps, a bound of free space", false, true, 0, "2MiB"},
	{"before the start, nothing left", true, false, 0, "1KiB"},
	{"before the start, some pages left", true, false, 256 << 10, "1KiB"},
}

func TestFullDiskLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("starts eight servers")
	}
	seed := testseed.Seed(t)
	w := rand.New(rand.NewPCG(seed, 0)).IntN(len(ways) - 1)
	campaign(t, seed, trial.Small, []way{ways[w], ways[len(ways)-1]}, 0)
}

// TestSoakFill fills the disk in each of the ways, again and again, for the time in MIZAN_SOAK.
func TestSoakFill(t *testing.T) {
	duration := testseed.SoakTime(t)
	campaign(t, testseed.Seed(t), trial.Options{}, ways, duration)
}

func campaign(t *testing.T, seed uint64, o trial.Options, ways []way, duration time.Duration) {
	testkit.NotUnderRace(t, "the detector's memory is on no disk")
	template := trial.NewTemplate(t, seed, o)
	var table faults.Table
	ends := time.Now().Add(duration)
	for n := uint64(0); n == 0 || time.Now().Before(ends); n++ {
		for k, w := range ways {
			t.Run(fmt.Sprintf("%d/%s", n, w.name), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, n<<8+uint64(k)))
				outcome, description := w.try(t, template, random)
				t.Log(description)
				table.Add(w.name, outcome, description)
			})
		}
	}
	trial.Report(t, &table)
}

func (w *way) try(t *testing.T, template *trial.Template, random *rand.Rand) (faults.Outcome, string) {
	disk := trial.MountMemory(t, diskSize)
	c := template.BeginUnder(t, disk)
	t.Cleanup(c.Close)
	c.AddFlags("--min-free", w.minFree)
	c.Book.ExpectsFault = true
	filler := filepath.Join(disk, "other")
	leave := int64(0)
	if w.maxLeave > 0 {
		leave = random.Int64N(w.maxLeave)
	}
	load := trial.LoadOptions{Clients: 6, Requests: 60 + random.IntN(100), MaxUnanswered: 12, Timeout: 10 * time.Second, Random: random}
	var s *server.Server
	if w.beforeStart {
		trial.Fill(t, filler, leave)
		s = c.Launch()
	} else {
		s = c.Start()
		load.Meanwhile = func() { w.fill(t, c, s, filler, leave, random) }
	}
	if c.WaitReady(s, readyTimeout) {
		c.Load(s, load)
		c.Backup(s) // the backup goes to the same full disk
	}
	whileFull := c.Book.Counts()
	outcome, description := faults.Intact, fmt.Sprintf("%d bytes left: %+v", leave, whileFull)
	if trial.IsRunning(s) {
		remove(t, filler)
		if err := c.AwaitRecovery(s, random); err != nil {
			t.Errorf("after the disk has space again: %v\n%s", err, c.Log())
		}
	} else {
		outcome = faults.Refused
		e := c.End(s)
		description += "; " + e.String()
		if err := e.Fault(); err != nil || e.Code != 1 {
			t.Errorf("%s: %v\n%s", description, err, e.Log)
		}
		// The disk is still full.
		again := c.Launch()
		ready := c.WaitReady(again, readyTimeout)
		remove(t, filler)
		e = c.End(again)
		description += fmt.Sprintf("; started on the full disk: ready %v, %v", ready, e)
		if err := e.Fault(); err != nil || e.Hung || !ready && !e.EndedByItself {
			t.Errorf("%s: %v\n%s", description, err, e.Log)
		}
		s = c.Start()
	}
	if e := c.End(s); e.Code != 0 || e.EndedByItself {
		t.Errorf("it stopped with %v\n%s", e, e.Log)
	}
	if err := c.Check(random); err != nil {
		return faults.Silent, fmt.Sprintf("%s: %v", description, err)
	}
	return outcome, description
}

// fill fills the disk after some requests have been answered.
func (w *way) fill(t *testing.T, c *trial.Case, s *server.Server, filler string, leave int64, random *rand.Rand) {
	wait := func(answers int) {
		select {
		case <-c.Book.AfterResponses(answers):
		case <-s.Exited():
		case <-time.After(2 * time.Second): // no further response came: the server refuses requests, or the load has ended
		}
	}
	wait(1 + random.IntN(30))
	for w.inSteps && trial.IsRunning(s) {
		free := trial.FreeBytes(t, filepath.Dir(filler))
		if free < 64<<10 {
			break
		}
		trial.Fill(t, filler, free*int64(random.IntN(100))/100)
		wait(1 + random.IntN(5))
	}
	trial.Fill(t, filler, leave)
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
