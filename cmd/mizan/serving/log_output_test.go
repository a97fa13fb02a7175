package serving

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"mizan/internal/testkit"
)

// errFull is the error of an output that fails.
var errFull = errors.New("no space left on device")

// brokenOutput is an output whose writes fail.
type brokenOutput struct{}

// Write implements io.Writer.
func (brokenOutput) Write([]byte) (int, error) { return 0, errFull }

// While the server runs, a line waits for the reader of stderr for as long as it takes.
func TestLogLineWaitsForItsReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		output := newLogOutput(writer)
		go func() {
			<-time.After(time.Hour) // an hour of the fake time in synctest
			_, _ = io.Copy(io.Discard, reader)
		}()
		began := time.Now()
		line := []byte("a line\n")
		if n, err := output.Write(line); n != len(line) || err != nil || time.Since(began) != time.Hour {
			t.Errorf("%d bytes, %v after %v", n, err, time.Since(began))
		}
		output.stop()
		if _, err := output.Write(line); err != nil || time.Since(began) != time.Hour {
			t.Errorf("a line after the stop: %v after %v", err, time.Since(began))
		}
		_ = writer.Close()
	})
	if _, err := newLogOutput(brokenOutput{}).Write([]byte("x")); !errors.Is(err, errFull) {
		t.Errorf("a write that fails: %v", err)
	}
}

// If nobody reads stderr for a second (stderrTimeout) after a stop begins, waiting and later lines are dropped.
func TestStopDropsLinesThatNobodyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		output := newLogOutput(writer)
		began, ended := time.Now(), make(chan struct{}, 3)
		for range cap(ended) {
			go func() {
				_, _ = output.Write([]byte("a line\n"))
				ended <- struct{}{}
			}()
		}
		<-time.After(time.Minute)
		output.stop()
		output.stop()
		for range cap(ended) {
			<-ended
		}
		_, err := output.Write([]byte("another\n"))
		if took := time.Since(began); err != nil || took != time.Minute+stderrTimeout {
			t.Errorf("the writers go on after %v: %v", took, err)
		}
		_ = reader.Close() // ends the write that still waits
	})
}

// SIGTERM ends a server whose stderr is a full pipe that nobody reads.
func TestServerStopsWhileNobodyReadsItsStderr(t *testing.T) {
	const pipeSize, room = 4096, 200 // the first line that a starting server logs fits into the pipe; the second does not
	unread, stderr, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unread.Close() }()
	if _, err := unix.FcntlInt(stderr.Fd(), unix.F_SETPIPE_SZ, pipeSize); err != nil {
		t.Fatal(err)
	}
	if _, err := stderr.Write([]byte(strings.Repeat("x", pipeSize-room))); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, testkit.Binary(t), "serve", "--sandbox", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0")
	command.Stderr = stderr
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = stderr.Close()
	testkit.WaitUntil(t, "the server has logged a line", func() bool {
		waiting, err := unix.IoctlGetInt(int(unread.Fd()), unix.TIOCINQ)
		return err == nil && waiting > pipeSize-room
	})
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
}
