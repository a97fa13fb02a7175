package peer_test

import (
	"bytes"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"mizan/internal/peer"
	"mizan/internal/testkit"
)

// Nodes that do not fit together exchange nothing, and each says once why.
func TestNodesThatDoNotFitRefuseEachOther(t *testing.T) {
	own := peer.Hello{Version: "v1", Schema: 7, Shards: 5, Keyring: "k"}
	for name, c := range map[string]struct {
		other peer.Hello
		want  string
	}{
		"schema":           {peer.Hello{Version: "v2", Schema: 8, Shards: 5, Keyring: "k"}, "schema 8"},
		"number of shards": {peer.Hello{Version: "v1", Schema: 7, Shards: 4, Keyring: "k"}, "--cluster-shards 3"},
		"keyring":          {peer.Hello{Version: "v1", Schema: 7, Shards: 5, Keyring: "other"}, "keyring"},
	} {
		t.Run(name, func(t *testing.T) {
			ids := identities(t, "n1", "n2")
			logs := [2]testkit.Output{}
			for i, hello := range []peer.Hello{own, c.other} {
				ids[i].Hello, ids[i].Log = hello, slog.New(slog.NewTextHandler(&logs[i], nil))
			}
			a, b := listen(t, ids[0], "raft"), listen(t, ids[1], "raft")
			accepted := make(chan net.Conn, 1)
			go func() {
				if conn, err := a.Protocol("raft").Accept(); err == nil {
					accepted <- conn
				}
			}()
			for range 3 {
				_, err := b.Dial(t.Context(), "n1", a.Addr().String(), "raft")
				var disagreement *peer.DisagreementError
				if !errors.As(err, &disagreement) || disagreement.Node != "n1" {
					t.Errorf("%v", err)
				}
			}
			_, err := a.Dial(t.Context(), "n2", b.Addr().String(), "raft")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v does not say %s", err, c.want)
			}
			_ = a.Close()
			for i, node := range []string{"n2", "n1"} {
				if n := logs[i].Count("node=" + node); n != 1 {
					t.Errorf("the log of n%d has %d lines", i+1, n)
				}
			}
			select {
			case <-accepted:
				t.Error("a connection was handed over")
			default:
			}
		})
	}
}

// Releases may differ, because nodes are upgraded one after the other.
func TestNodesOfDifferentReleasesFit(t *testing.T) {
	ids := identities(t, "n1", "n2")
	ids[0].Hello, ids[1].Hello = peer.Hello{Version: "v1", Schema: 7, Shards: 5, Keyring: "k"}, peer.Hello{Version: "v2", Schema: 7, Shards: 5, Keyring: "k"}
	a, b := listen(t, ids[0], "raft"), listen(t, ids[1], "raft")
	conn, err := b.Dial(t.Context(), "n1", a.Addr().String(), "raft")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	in, err := a.Protocol("raft").Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = in.Close()
}

// A node that says nothing, or something else, about itself gets no further.
func TestConnectionWithoutHelloIsClosed(t *testing.T) {
	ids := identities(t, "n1", "n2")
	a := listen(t, ids[0], "raft")
	for _, said := range []string{"", "\xff\xff", "\x00\x02[]", "\x00\x04{\"Ver"} {
		conn, err := tls.Dial("tcp", a.Addr().String(), &tls.Config{
			RootCAs: ids[0].Authority, ServerName: "n1", Certificates: []tls.Certificate{ids[1].Certificate}, NextProtos: []string{"raft"}, MinVersion: tls.VersionTLS13,
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte(said)); err != nil {
			t.Fatal(err)
		}
		if err := conn.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		var all bytes.Buffer
		if _, err := all.ReadFrom(conn); err != nil {
			var netErr net.Error
			if errors.As(err, &netErr) && netErr.Timeout() {
				t.Errorf("%q: the connection stays open", said)
			}
		}
		_ = conn.Close()
	}
}
