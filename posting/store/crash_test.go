package store

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mizan/internal/mapfault"
	"mizan/internal/testseed"
)

// childVariable is the environment variable that makes the test binary a child process, which opens a store and
// writes to it until it is killed. The value has the seed, the number of keys, the last group and the directory.
const childVariable = "MIZAN_STORE_CHILD"

func TestMain(m *testing.M) {
	if arguments := os.Getenv(childVariable); arguments != "" {
		err := mapfault.ExitOnFault(1, "failed "+mapFault)
		if err == nil {
			err = failSyncs(os.Getenv(faultVariable))
		}
		if err == nil {
			err = runChild(arguments)
		}
		if err != nil {
			mapfault.ClaimExitLine()
			fmt.Println("failed", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// memTableVariable sets the size of a child's memtables in bytes; the default is minMemTable.
const memTableVariable = "MIZAN_STORE_MEMTABLE"

// mapFault is the line with which a child ends if a write through a memory map fails.
const mapFault = "a mapped file could not be written: no space left"

// If the environment variable closeVariable is set, the child closes the store after its last group.
const closeVariable = "MIZAN_STORE_CLOSE"

// childHistory returns the history that children write with this seed and number of keys.
func childHistory(seed uint64, keys int) history {
	return history{seed: seed, rows: 20, value: 4000, keys: keys}
}

// With fewKeys, rows are overwritten and deleted all the time. With manyKeys, nearly every row has a new key.
const (
	fewKeys  = 400
	manyKeys = 1 << 40
)

// runChild applies groups up to the last one and prints the number of each. Then it waits until it is killed. arguments is
// the value of childVariable.
func runChild(arguments string) error {
	var dir string
	var seed, last uint64
	var keys int
	if _, err := fmt.Sscan(arguments, &seed, &keys, &last, &dir); err != nil {
		return err
	}
	memTable := int64(minMemTable)
	if text := os.Getenv(memTableVariable); text != "" {
		if _, err := fmt.Sscan(text, &memTable); err != nil {
			return err
		}
	}
	s, err := Open(Options{Dir: dir, MemTable: memTable, Log: discardLog})
	if err != nil {
		return err
	}
	fmt.Println("opened")
	n, hash := s.LastGroup()
	g := new(Group)
	for n++; n <= last; n++ {
		g.Reset(n, hash)
		childHistory(seed, keys).fill(g)
		hash = g.Seal()
		if err := s.Apply(g); err != nil {
			return err
		}
		fmt.Println("applied", n)
	}
	if err := s.Confirm(); err != nil {
		return err
	}
	fmt.Println("done")
	if os.Getenv(closeVariable) != "" {
		return s.Close()
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// process is a running child.
type process struct {
	cmd   *exec.Cmd
	lines chan string // lines of the output; closed when the output ends
	acked uint64      // the last group that the child reported as applied

	failure string   // why the child has ended by itself; empty if it has not
	output  []string // all lines that do not report progress, for example those of a crash
}

// startChild starts a child that applies the groups of the history, up to group last.
func startChild(t testing.TB, dir string, hist history, last uint64) *process {
	t.Helper()
	return start(t, exec.Command(os.Args[0]), fmt.Sprintf("%s=%d %d %d %s", childVariable, hist.seed, hist.keys, last, dir))
}

func start(t testing.TB, cmd *exec.Cmd, env ...string) *process {
	t.Helper()
	p := &process{cmd: cmd, lines: make(chan string, 1000)}
	p.cmd.Env = append(os.Environ(), env...)
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	if _, err := p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for in := bufio.NewScanner(stdout); in.Scan(); {
			p.lines <- in.Text()
		}
	}()
	return p
}

// readUntil reads the child's output up to the line that begins with text. If text is empty, it reads all of the output.
func (p *process) readUntil(t testing.TB, text string) {
	t.Helper()
	for line := range p.lines {
		if p.take(t, line); text != "" && strings.HasPrefix(line, text) {
			return
		}
	}
}

// take handles one line of the child's output.
func (p *process) take(t testing.TB, line string) {
	t.Helper()
	if reason, isFailure := strings.CutPrefix(line, "failed "); isFailure {
		p.failure = reason
	}
	if _, err := fmt.Sscanf(line, "applied %d", &p.acked); err != nil && line != "opened" && line != "done" {
		p.output = append(p.output, line)
	}
}

// waitForChanges waits until the directory has changed n times, or the child has opened the store.
func (p *process) waitForChanges(t testing.TB, dir string, n int) {
	t.Helper()
	for last := listFiles(dir); n > 0; {
		select {
		case line, more := <-p.lines:
			if p.take(t, line); !more || line == "opened" {
				return
			}
		default:
			if current := listFiles(dir); current != last {
				last = current
				n--
			}
		}
	}
}

// listFiles returns the paths and sizes of all files of a directory, as text.
func listFiles(dir string) string {
	var text strings.Builder
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // the file was just renamed or deleted
		}
		if info, err := d.Info(); err == nil {
			fmt.Fprintln(&text, path, info.Size())
		}
		return nil
	})
	return text.String()
}

// kill ends the child at once and returns the last group that it reported as applied.
func (p *process) kill(t testing.TB) (acked uint64) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.readUntil(t, "") // the output before the kill
	_ = p.cmd.Wait()   // an error: the child was killed
	if p.failure != "" {
		t.Fatal("the child failed: ", p.failure)
	}
	if len(p.output) > 0 {
		t.Fatalf("the child said %.4000q", p.output)
	}
	return p.acked
}

// wantHistory opens the store in the directory after a kill, and compares all rows with the history. m has the rows after
// group from, and wantHistory brings it up to the store's last group. acked is the number of the last acknowledged group.
func wantHistory(t *testing.T, dir string, hist history, m model, from, acked uint64) (last uint64) {
	t.Helper()
	return wantHistoryIn(t, open(t, Options{Dir: dir, MemTable: minMemTable}), hist, m, from, acked)
}

// wantHistoryIn does the work of wantHistory with a store that is open already, and closes the store.
func wantHistoryIn(t *testing.T, s *Store, hist history, m model, from, acked uint64) (last uint64) {
	t.Helper()
	last, _ = s.LastGroup()
	if last < acked {
		t.Fatalf("the last group is %d, the last acknowledged one %d", last, acked)
	}
	hist.applyTo(m, from, last)
	if err := hist.differenceFrom(s, m); err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	return last
}

func TestNothingAcknowledgedIsLostByAKill(t *testing.T) {
	randomSeed := testseed.Seed(t)
	r := rand.New(rand.NewPCG(randomSeed, 2))
	hist, m, dir := childHistory(randomSeed, fewKeys), make(model), t.TempDir()
	var checkedUpTo, acked uint64
	for round := range 12 {
		p := startChild(t, dir, hist, 1<<40)
		if round%3 == 0 { // kill it while it opens the directory of the last kill
			p.waitForChanges(t, dir, r.IntN(12))
		} else {
			p.readUntil(t, fmt.Sprintf("applied %d", acked+uint64(r.IntN(200))+2))
		}
		acked = max(acked, p.kill(t))
		if round%4 == 3 { // in the other rounds, the next child is the first to open the directory
			checkedUpTo = wantHistory(t, dir, hist, m, checkedUpTo, acked)
		}
	}
}

func TestInterruptedCreationIsResumed(t *testing.T) {
	hist := childHistory(1, fewKeys)
	for changes := range 25 {
		dir := t.TempDir()
		p := startChild(t, dir, hist, 0)
		p.waitForChanges(t, dir, changes)
		p.kill(t)
		if last := wantHistory(t, dir, hist, make(model), 0, 0); last != 0 {
			t.Errorf("killed after %d changes: the last group is %d", changes, last)
		}
	}
}
