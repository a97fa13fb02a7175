package load

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"mizan/bench/server"
	"mizan/internal/testkit"
)

const (
	readyTimeout = 2 * time.Minute
	stopTimeout  = time.Minute
)

func TestMain(m *testing.M) { testkit.Main(m) }

// testServer is a server with its log. It is killed at the end of the test.
type testServer struct {
	*testing.T
	*server.Server
	dir  string
	http *http.Client
	log  *os.File
}

// startServer starts a server. Its log is in the parent directory of the data directory.
func startServer(t *testing.T, dir string, args ...string) *testServer {
	t.Helper()
	log, err := os.Create(filepath.Join(filepath.Dir(dir), "log"))
	if err != nil {
		t.Fatal(err)
	}
	started, err := server.Start(server.Options{
		Binary: testkit.Binary(t), Dir: dir, TLS: "off", Log: log, Args: append([]string{"--log-level", "warn"}, args...),
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &testServer{T: t, Server: started, dir: dir, log: log}
	t.Cleanup(func() {
		select {
		case <-s.Exited():
		default:
			_ = s.Kill()
		}
		_ = log.Close()
	})
	ctx, cancel := context.WithTimeout(t.Context(), readyTimeout)
	defer cancel()
	if err := s.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	if s.http, err = s.Sandbox.Client(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.http.CloseIdleConnections)
	return s
}

// do makes a request, and returns the response's status and body.
func (s *testServer) do(ctx context.Context, method, path, header, credential string, body any) (int, []byte, error) {
	content := ""
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		content = string(text)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.Sandbox.BaseURL+path, strings.NewReader(content))
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set(header, credential)
	request.Header.Set("x-organization-id", s.Sandbox.OrganizationID)
	if body != nil {
		request.Header.Set("content-type", "application/json")
	}
	response, err := s.http.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, text, err
}

// admin makes a request as the administrator, which must succeed, and decodes the response into a value.
func (s *testServer) admin(method, path string, body, into any) {
	s.Helper()
	status, text, err := s.do(s.Context(), method, path, "authorization", "Bearer "+s.Sandbox.AdminToken, body)
	if err == nil && status >= 300 {
		err = fmt.Errorf("status %d: %s", status, text)
	}
	if err == nil && into != nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		s.Fatalf("%s %s: %v", method, path, err)
	}
}

// stopAndVerify stops the server, and checks its store.
func (s *testServer) stopAndVerify() {
	s.Helper()
	if err := s.Stop(stopTimeout); err != nil {
		s.Error(err)
		return
	}
	verified := testkit.Run(s, nil, "audit", "verify", "--data", s.dir)
	if verified.Exit != 0 || verified.Stderr != "" {
		s.Errorf("audit verify: exit %d\n%s%s", verified.Exit, verified.Stdout, verified.Stderr)
	}
}

// peakMemory samples a server's anonymous memory.
type peakMemory struct {
	peak atomic.Int64
	stop func()
}

func watchMemory(pid int) *peakMemory {
	m, stopping := new(peakMemory), make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			if usage, err := server.UsageOf(pid); err == nil {
				m.peak.Store(max(m.peak.Load(), usage.Anon))
			}
			select {
			case <-tick.C:
			case <-stopping:
				return
			}
		}
	})
	m.stop = sync.OnceFunc(func() { close(stopping); watcher.Wait() })
	return m
}

// takePeak returns the peak since the last call.
func (m *peakMemory) takePeak() int64 { return m.peak.Swap(0) }

// raiseHandles raises the soft limit of open files to the hard limit, and returns it.
func raiseHandles(t *testing.T) int {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	return int(min(limit.Max, 1<<30))
}

// dialFrom opens a connection to the server from the loopback address that lastByte selects, because the server allows each
// address only a part of all connections.
func (s *testServer) dialFrom(ctx context.Context, lastByte int) (net.Conn, error) {
	d := net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, byte(lastByte))}}
	return d.DialContext(ctx, "tcp", strings.TrimPrefix(s.Sandbox.BaseURL, "http://"))
}

// addMerchants makes partners with terminals and one key each in a new data directory, and returns their numbers and keys.
func addMerchants(t *testing.T, dir string, partners int) (numbers []int64, keys []string) {
	t.Helper()
	testkit.MustRun(t, "bench", "payments", "--data", dir, "--partners", strconv.Itoa(partners), "--connections", "8", "--duration", "100ms")
	content, err := os.ReadFile(filepath.Join(dir, "bench-merchants.json"))
	if err != nil {
		t.Fatal(err)
	}
	var merchants struct {
		Partners []struct {
			ID   int64
			Keys []string
		}
	}
	if err := json.Unmarshal(content, &merchants); err != nil {
		t.Fatal(err)
	}
	for _, m := range merchants.Partners {
		numbers, keys = append(numbers, m.ID), append(keys, m.Keys[0])
	}
	return numbers, keys
}
