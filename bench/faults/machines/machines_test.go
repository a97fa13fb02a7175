package machines

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain prints the time twice if the test program was started by TestClock.
func TestMain(m *testing.M) {
	if os.Getenv("PRINT_TIME") == "" {
		os.Exit(m.Run())
	}
	for {
		_, _ = os.Stdout.WriteString(strconv.FormatInt(time.Now().Unix(), 10) + "\n")
		if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
			return
		}
	}
}

func skipUnless(t *testing.T, reason error) {
	t.Helper()
	if reason != nil {
		t.Skipf("NOT TRIED: %v", reason)
	}
}

// twoHosts returns two hosts and a function that sends a byte from the first to the second, and tells how long that took.
func twoHosts(t *testing.T) (n *Network, a, b *Host, send func(within time.Duration) (time.Duration, error)) {
	t.Helper()
	skipUnless(t, NetworkUnavailable())
	n = new(Network)
	t.Cleanup(func() { _ = n.Close() })
	var err error
	if a, err = n.Add(); err == nil {
		b, err = n.Add()
	}
	if err != nil {
		t.Fatal(err)
	}
	var in net.PacketConn
	if err := b.Do(func() (err error) { in, err = net.ListenPacket("udp4", b.Address+":9"); return err }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close() })
	out, err := a.Dial(t.Context(), "udp4", b.Address+":9")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	return n, a, b, func(within time.Duration) (time.Duration, error) {
		began := time.Now()
		if err := in.SetReadDeadline(began.Add(within)); err != nil {
			return 0, err
		}
		if _, err := out.Write([]byte("x")); err != nil {
			return 0, err
		}
		_, _, err := in.ReadFrom(make([]byte, 1))
		return time.Since(began), err
	}
}

func TestWaysDelayLoseAndAreCut(t *testing.T) {
	n, a, b, send := twoHosts(t)
	if _, err := send(10 * time.Second); err != nil {
		t.Fatalf("a good way: %v", err)
	}
	SetWay(a, b, Conditions{Delay: 200 * time.Millisecond})
	if took, err := send(10 * time.Second); err != nil || took < 200*time.Millisecond {
		t.Errorf("with a delay of 200 ms: %v, %v", took, err)
	}
	if err := n.Mend(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func() error{
		"a way that loses everything": func() error { SetWay(a, b, Conditions{Loss: 1}); return nil },
		"a cut":                       func() error { return Cut(a, b) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if _, err := send(100 * time.Millisecond); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
		if err := n.Mend(); err != nil {
			t.Fatal(err)
		}
		if _, err := send(10 * time.Second); err != nil {
			t.Errorf("%s was mended: %v", name, err)
		}
	}
	if err := Cut(b, a); err != nil {
		t.Fatal(err)
	}
	if _, err := send(10 * time.Second); err != nil {
		t.Errorf("only the way back is cut: %v", err)
	}
}

func TestDiskIsFilledAndStops(t *testing.T) {
	dir := t.TempDir()
	skipUnless(t, DiskUnavailable(dir))
	d, err := NewDisk(filepath.Join(dir, "disk"), 64<<20)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	name := filepath.Join(d.Dir, "file")
	if err := d.Fill(0); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, make([]byte, 1<<20), 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("a full disk: %v", err)
	}
	if err := d.Empty(); err != nil {
		t.Fatal(err)
	}
	if err := d.Freeze(); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(name, make([]byte, 1<<20), 0o600) }()
	select {
	case err := <-written:
		t.Errorf("a write to a frozen disk returned %v", err)
	case <-time.After(100 * time.Millisecond):
	}
	if err := d.Thaw(); err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func TestClockIsSetWhileTheProcessRuns(t *testing.T) {
	skipUnless(t, ClockUnavailable())
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PRINT_TIME=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var c *Clock
	if err := onThread(func() (err error) { c, err = Start(cmd); return err }); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = in.Close(), cmd.Wait() }()
	shown := func() time.Duration {
		line := make([]byte, len("1700000000\n"))
		if _, err := io.ReadFull(out, line); err != nil {
			t.Fatal(err)
		}
		seconds, err := strconv.ParseInt(strings.TrimSpace(string(bytes.TrimSpace(line))), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return time.Until(time.Unix(seconds, 0))
	}
	wantAbout := func(want time.Duration) {
		t.Helper()
		if got := shown(); (got - want).Abs() > 10*time.Second {
			t.Errorf("the clock differs by %v, not by %v", got, want)
		}
	}
	wantAbout(0)
	for _, difference := range []time.Duration{5 * time.Minute, -3 * time.Minute, 0} {
		if err := c.Set(difference); err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		wantAbout(difference)
	}
}
