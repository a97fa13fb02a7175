package store

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// childVariable makes the test binary open a store and write to it until it is
// killed: directory, seed and last group.
const childVariable = "MIZAN_STORE_CHILD"

func TestMain(m *testing.M) {
	if order := os.Getenv(childVariable); order != "" {
		if err := child(order); err != nil {
			fmt.Println("failed", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// childStory is the history that children write.
func childStory(seed uint64) story { return story{seed: seed, rows: 20, value: 4000, keys: 400} }

// child says each group that it has applied, then waits for its end.
func child(order string) error {
	var dir string
	var seed, last uint64
	if _, err := fmt.Sscan(order, &seed, &last, &dir); err != nil {
		return err
	}
	s, err := Open(Options{Dir: dir, MemTable: minMemTable, Log: quiet})
	if err != nil {
		return err
	}
	fmt.Println("opened")
	n, hash := s.LastGroup()
	g := new(Group)
	for n++; n <= last; n++ {
		g.Reset(n, hash)
		childStory(seed).fill(g)
		hash = g.Seal()
		if err := s.Apply(g); err != nil {
			return err
		}
		fmt.Println("applied", n)
	}
	fmt.Println("done")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// process is a running child.
type process struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	acked uint64
}

func startChild(t testing.TB, dir string, seed, last uint64) *process {
	t.Helper()
	p := &process{cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %d %s", childVariable, seed, last, dir))
	p.cmd.Stderr = os.Stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewScanner(stdout)
	return p
}

// until reads what the child says to the line that begins with text, or to the end.
func (p *process) until(t testing.TB, text string) {
	t.Helper()
	for p.lines.Scan() {
		line := p.lines.Text()
		if strings.HasPrefix(line, "failed") {
			t.Fatal("the child ", line)
		}
		_, _ = fmt.Sscanf(line, "applied %d", &p.acked) // other lines say no number
		if text != "" && strings.HasPrefix(line, text) {
			return
		}
	}
}

// kill ends the child at once and returns the last group that it said.
func (p *process) kill(t testing.TB) (acked uint64) {
	t.Helper()
	if err := p.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	p.until(t, "") // what it had said before
	_ = p.cmd.Wait() // it was killed
	return p.acked
}

func TestNothingAcknowledgedIsLostByAKill(t *testing.T) {
	sd := seed(t)
	r := rand.New(rand.NewPCG(sd, 2))
	st, m, at := childStory(sd), make(model), uint64(0)
	dir := t.TempDir()
	for round := range 10 {
		p := startChild(t, dir, sd, 1<<40)
		switch round % 3 {
		case 0: // at any moment, also while it opens or is created
			time.Sleep(time.Duration(r.IntN(60)) * time.Millisecond)
		case 1:
			p.until(t, "opened")
		case 2:
			p.until(t, fmt.Sprintf("applied %d", at+uint64(r.IntN(150))+1))
		}
		acked := p.kill(t)
		s := open(t, Options{Dir: dir, MemTable: minMemTable})
		n, _ := s.LastGroup()
		if n < acked || n < at || n > max(at, acked)+1 {
			t.Fatalf("round %d: the last group is %d, acknowledged were %d", round, n, acked)
		}
		st.play(m, at, n)
		at = n
		if err := st.differs(s, m); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if round%2 == 0 {
			closeStore(t, s)
			continue
		}
		releaseUnclosed(s)
	}
}
