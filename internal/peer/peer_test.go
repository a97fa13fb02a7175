package peer_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mizan/internal/peer"
)

// identities makes an authority with certificates for nodes, and returns their identities.
func identities(t *testing.T, nodes ...string) (ids []peer.Identity) {
	t.Helper()
	dir := t.TempDir()
	if err := peer.MakeCertificates(dir, nodes, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, node := range nodes {
		id, err := peer.ReadIdentity(dir, node)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func listen(t *testing.T, id peer.Identity, protocols ...string) *peer.Link {
	t.Helper()
	l, err := peer.Listen("127.0.0.1:0", id, protocols...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// wantRefused checks that nothing can be read from a connection, if there is one.
func wantRefused(t *testing.T, conn net.Conn, err error) {
	t.Helper()
	if err != nil {
		return
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d bytes and %v", n, err)
	}
}

func TestEachSideKnowsTheOther(t *testing.T) {
	ids := identities(t, "n1", "n2")
	a, b := listen(t, ids[0], "raft", "h2"), listen(t, ids[1], "raft", "h2")
	for _, protocol := range []string{"raft", "h2"} {
		out, err := b.Dial(t.Context(), "n1", a.Addr().String(), protocol)
		if err != nil {
			t.Fatal(err)
		}
		in, err := a.Protocol(protocol).Accept()
		if err != nil {
			t.Fatal(err)
		}
		if peer.NameOf(in) != "n2" || peer.NameOf(out) != "n1" {
			t.Errorf("%s connects %q and %q", protocol, peer.NameOf(in), peer.NameOf(out))
		}
		if _, err := out.Write([]byte("x")); err != nil {
			t.Error(err)
		}
		if got, err := io.ReadAll(io.LimitReader(in, 1)); err != nil || string(got) != "x" {
			t.Errorf("%q, %v", got, err)
		}
		_, _ = in.Close(), out.Close()
	}
}

func TestConnectionsFromOutsideTheClusterAreRefused(t *testing.T) {
	ids, others := identities(t, "n1", "n2"), identities(t, "n1", "n2")
	a := listen(t, ids[0], "raft")
	address := a.Addr().String()
	t.Run("certificate of another authority", func(t *testing.T) {
		conn, err := listen(t, others[1], "raft").Dial(t.Context(), "n1", address, "raft")
		wantRefused(t, conn, err)
	})
	t.Run("no certificate", func(t *testing.T) {
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: ids[0].Authority, ServerName: "n1", NextProtos: []string{"raft"}, MinVersion: tls.VersionTLS13})
		if err != nil {
			return
		}
		wantRefused(t, conn, nil)
	})
	t.Run("old TLS", func(t *testing.T) {
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: ids[0].Authority, ServerName: "n1", Certificates: []tls.Certificate{ids[1].Certificate}, MaxVersion: tls.VersionTLS12, MinVersion: tls.VersionTLS12})
		if err == nil {
			wantRefused(t, conn, nil)
		}
	})
	t.Run("no protocol", func(t *testing.T) {
		conn, err := tls.Dial("tcp", address, &tls.Config{RootCAs: ids[0].Authority, ServerName: "n1", Certificates: []tls.Certificate{ids[1].Certificate}, MinVersion: tls.VersionTLS13})
		if err == nil {
			wantRefused(t, conn, nil)
		}
	})
	t.Run("unknown protocol", func(t *testing.T) {
		conn, err := listen(t, ids[1], "raft").Dial(t.Context(), "n1", address, "h2")
		wantRefused(t, conn, err)
	})
	t.Run("plain text", func(t *testing.T) {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write([]byte("GET / HTTP/1.1\r\n\r\n")); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, conn) // the TLS alert, and then the end
		_ = conn.Close()
	})
	t.Run("another node at the address", func(t *testing.T) {
		if conn, err := listen(t, ids[1], "raft").Dial(t.Context(), "n3", address, "raft"); err == nil {
			_ = conn.Close()
			t.Error("n1 was taken for n3")
		}
	})
	// A node of the cluster can still connect.
	conn, err := listen(t, ids[1], "raft").Dial(t.Context(), "n1", address, "raft")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	in, err := a.Protocol("raft").Accept()
	if err != nil || peer.NameOf(in) != "n2" {
		t.Errorf("the first accepted connection is of %v", err)
	}
}

// Connections that say nothing take a place only for some time, and Close does not wait for them.
func TestSilentConnectionsDoNotHoldUpTheEnd(t *testing.T) {
	ids := identities(t, "n1")
	l, err := peer.Listen("127.0.0.1:0", ids[0], "raft")
	if err != nil {
		t.Fatal(err)
	}
	for range 300 { // more than there are places for handshakes
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	began := time.Now()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("the end took %v", took)
	}
	if _, err := l.Protocol("raft").Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept after the end: %v", err)
	}
}

func TestIdentityOfAnotherNodeIsRefused(t *testing.T) {
	dir := t.TempDir()
	if err := peer.MakeCertificates(dir, []string{"n1", "n2"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if _, err := peer.ReadIdentity(dir, "n3"); err == nil {
		t.Error("a node without a certificate has an identity")
	}
	if _, err := peer.ReadIdentity(filepath.Join(dir, "elsewhere"), "n1"); err == nil {
		t.Error("a directory without certificates has an identity")
	}
	for _, suffix := range []func(string) string{peer.CertificateFile, peer.KeyFile} {
		copyFile(t, filepath.Join(dir, suffix("n1")), filepath.Join(dir, suffix("n3")))
	}
	if _, err := peer.ReadIdentity(dir, "n3"); err == nil {
		t.Error("the certificate of n1 is taken for that of n3")
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
