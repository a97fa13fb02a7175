package serving

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"mizan/internal/testkit"
)

// The server notifies a unit with Type=notify when it is ready, when it reloads its configuration, and when it stops.
func TestSupervisorIsNotified(t *testing.T) {
	dir, err := os.MkdirTemp("", "") // t.TempDir may be too long for the address of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	address := &net.UnixAddr{Name: filepath.Join(dir, "notify"), Net: "unixgram"}
	socket, err := net.ListenUnixgram("unixgram", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = socket.Close() })
	wantState := func(want string) {
		t.Helper()
		if err := socket.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		buffer := make([]byte, 4096)
		n, err := socket.Read(buffer)
		if err != nil || !strings.HasPrefix(string(buffer[:n]), want) {
			t.Fatalf("the supervisor was told %q, %v; want %q", buffer[:n], err, want)
		}
	}
	s := testkit.Start(t, testkit.Options{Env: []string{"NOTIFY_SOCKET=" + address.Name}})
	wantState("READY=1\nSTATUS=serving on " + s.BaseURL)
	s.Signal(syscall.SIGHUP)
	wantState("RELOADING=1\nMONOTONIC_USEC=")
	wantState("READY=1")
	s.Signal(syscall.SIGTERM)
	wantState("STOPPING=1")
	if code := s.Wait(); code != 0 {
		t.Errorf("exit %d, want 0", code)
	}
}
