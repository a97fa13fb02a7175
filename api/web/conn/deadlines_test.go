package conn

import (
	"errors"
	"net"
	"os"
	"slices"
	"testing"
	"time"
)

// socket records the deadlines that it gets.
type socket struct {
	net.Conn
	read, write []time.Time
}

func (s *socket) Read([]byte) (int, error)           { return 1, nil }
func (s *socket) Write(p []byte) (int, error)        { return len(p), nil }
func (s *socket) SetReadDeadline(t time.Time) error  { s.read = append(s.read, t); return nil }
func (s *socket) SetWriteDeadline(t time.Time) error { s.write = append(s.write, t); return nil }

func newRecordedConnection() (*connection, *socket) {
	s := new(socket)
	c := &connection{Conn: s, baseConn: &baseConn{raw: s, silent: new(SilentConnections)}}
	c.silent.add(c.baseConn)
	return c, s
}

var noon = time.Date(2026, 9, 3, 12, 0, 0, 0, time.UTC)

// If several deadlines are set before a read, only the last one applies.
func TestReadDeadlineIsThatOfTheLastCall(t *testing.T) {
	c, s := newRecordedConnection()
	want := []time.Time{noon.Add(time.Minute), noon.Add(time.Second), {}}
	for _, deadline := range want {
		for _, d := range []time.Time{noon, noon.Add(time.Hour), deadline} {
			if err := c.SetReadDeadline(d); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if _, err := c.Read(make([]byte, 8)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !slices.Equal(s.read, want) || s.write != nil {
		t.Errorf("the socket got %v for reads and %v for writes", s.read, s.write)
	}
}

func TestWriteDeadlineMayBeThatOfAWriteUpToASecondEarlier(t *testing.T) {
	c, s := newRecordedConnection()
	var want []time.Time
	for _, step := range []struct {
		deadline time.Time
		isSet    bool
	}{
		{noon, true}, {noon, false}, {noon.Add(time.Second), false}, {noon.Add(time.Second + 1), true}, {noon, true}, {time.Time{}, true},
		{time.Time{}, false}, {noon, true},
	} {
		if err := c.SetWriteDeadline(step.deadline); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		if step.isSet {
			want = append(want, step.deadline)
		}
		if !slices.Equal(s.write, want) {
			t.Fatalf("after %v the socket has got %v, want %v", step.deadline, s.write, want)
		}
	}
	if err := c.SetDeadline(noon.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	_, _ = c.Read(make([]byte, 8))
	_, _ = c.Write([]byte("x"))
	if s.read[0] != noon.Add(time.Hour) || s.write[len(s.write)-1] != noon.Add(time.Hour) {
		t.Errorf("one deadline for both: %v, %v", s.read, s.write)
	}
}

func TestReadsAndWritesEndAtTheirDeadlines(t *testing.T) {
	client, server := net.Pipe()
	defer func() { _ = client.Close() }()
	c := &connection{Conn: server, baseConn: &baseConn{raw: server, silent: new(SilentConnections)}}
	c.silent.add(c.baseConn)
	for name, use := range map[string]func() error{
		"read": func() error {
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			_, err := c.Read(make([]byte, 8))
			return err
		},
		"write": func() error {
			_ = c.SetWriteDeadline(time.Now().Add(time.Millisecond))
			_, err := c.Write([]byte("x"))
			return err
		},
	} {
		if err := use(); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
