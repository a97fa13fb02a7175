package client_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mizan/cmd/mizan/client"
)

// openTerminal returns both ends of a pseudo-terminal of this width.
func openTerminal(t *testing.T, width uint16) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("this machine gives no terminals: %v", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}); err != nil {
		t.Fatal(err)
	}
	return screen, terminal
}

// On a terminal that is too narrow, a note names the columns that are left out.
func TestColumnsThatAreLeftOutAreNamed(t *testing.T) {
	for width, want := range map[uint16]string{
		80: "",
		50: "mizan: x: the terminal is too narrow for second; --json has everything\n",
	} {
		screen, terminal := openTerminal(t, width)
		row, err := client.NewObject("id", "f0b6ac47-fb98-4496-b1aa-601a0f5d967b", "first", "123456789", "second", "123456789")
		if err != nil {
			t.Fatal(err)
		}
		var notes bytes.Buffer
		command := client.Command{Name: "x", Streams: &client.Streams{Out: terminal, Err: &notes}}
		if err := command.PrintRows(client.Listing{Columns: []string{"id", "first", "second"}, OmitOrder: []string{"second"}}, []client.Object{row}); err != nil {
			t.Fatal(err)
		}
		shown := make([]byte, 1000)
		n, err := screen.Read(shown)
		if err != nil || strings.Contains(string(shown[:n]), "SECOND") != (want == "") || notes.String() != want {
			t.Errorf("%d columns: %q, noted %q, want %q; %v", width, shown[:n], notes.String(), want, err)
		}
	}
}
