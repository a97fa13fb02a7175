package serving

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mizan/cmd/mizan/cli"
	"mizan/internal/testkit"
)

// smallestLimit is the smallest limit of open files with which a server starts.
const smallestLimit = minHandles

func TestTooFewOpenFilesAreExplained(t *testing.T) {
	testkit.NotUnderRace(t, reasonRefusedStart)
	r := testkit.RunLimited(t, smallestLimit/2, nil, "serve", "--sandbox", "--data", filepath.Join(t.TempDir(), "data"), "--listen", "127.0.0.1:0")
	if want := "mizan: configuration: open files: the limit is 512, and at least 1024 are needed; raise it (ulimit -n, or LimitNOFILE= of a systemd unit)\n"; r.Exit != cli.ExitConfiguration || r.Stderr != want {
		t.Errorf("exit %d, %s", r.Exit, r.Stderr)
	}
}

func TestOpenFileLimitIsDividedAmongUses(t *testing.T) {
	for limit, want := range map[uint64]handles{
		1024:      {1024, 32, 776},
		4096:      {4096, 128, 968},
		1 << 20:   {1 << 20, 1024, 2760},
		1<<64 - 1: {1 << 30, 1024, 2760}, // means unlimited
	} {
		got, err := shareHandles(limit)
		if err != nil || got != want {
			t.Errorf("%d: %+v %v", limit, got, err)
		}
	}
	h, err := shareHandles(1024)
	if err != nil || h.connections(40) != 208 || h.connections(300) >= 0 {
		t.Errorf("%d and %d connections, %v", h.connections(40), h.connections(300), err)
	}
	h.limit = 1 << 20
	if h.connections(1000) != maxConnections {
		t.Errorf("%d connections", h.connections(1000))
	}
}

// openIdleConnections opens n connections from several IP addresses and sends nothing on them.
func openIdleConnections(t *testing.T, s *testkit.Server, n int) {
	t.Helper()
	at := strings.TrimPrefix(strings.TrimPrefix(s.BaseURL, "http://"), "https://")
	for i := range n {
		d := net.Dialer{Timeout: patience, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(i%7+1))}}
		c, err := d.Dial("tcp", at)
		if err != nil {
			t.Fatalf("connection %d: %v\n%s", i, err, s.Stderr())
		}
		t.Cleanup(func() { _ = c.Close() })
	}
}

// patience is how long a test waits for a connection, a response or all notifications.
const patience = 2 * time.Minute

// More idle connections than the process may have open files do not disturb the server: payments on new connections, their
// notifications and new files of the store still work.
func TestIdleConnectionsLeaveHandlesForEverythingElse(t *testing.T) {
	testkit.NotUnderRace(t, reasonCountsFiles)
	var notified sync.Map
	var notifications atomic.Int64
	sink := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, isRepeated := notified.LoadOrStore(r.Header.Get("X-Webhook-Event-Id"), true); !isRepeated {
			notifications.Add(1)
		}
	}))
	defer sink.Close()
	server := testkit.Start(t, testkit.Options{OpenFiles: smallestLimit})
	answer, err := server.Admin().Do("PATCH", "/api/v1/partners/"+strconv.FormatInt(server.Sandbox.PartnerID, 10), map[string]any{"notify_url": sink.URL, "secret": "0123456789abcdef"})
	testkit.WantStatus(t, answer, err, 200)
	filesBefore := countStoreFiles(t, server.Dir)
	openIdleConnections(t, server, 2*smallestLimit)
	// Each payment comes over a connection of its own. Each is so large that the store opens new files for values and for its
	// log.
	const payments, workers = 840, 8
	body := strings.Replace(testkit.CardPayment("%d"), `"type"`, `"merchant_meta":{"note":"`+strings.Repeat("m", 60_000)+`"},"type"`, 1)
	work := make(chan int)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for i := range work {
				answer, err := server.Partner().With("connection", "close").Post("/api/v1/transactions", fmt.Sprintf(body, i))
				if err != nil || answer.Status != 201 || !bytes.Contains(answer.Body, []byte(`"charged"`)) {
					t.Errorf("payment %d: %v %.200s", i, err, describeAnswer(answer))
				}
			}
		})
	}
	for i := 0; i < payments && !t.Failed(); i++ {
		work <- i
	}
	close(work)
	wg.Wait()
	if t.Failed() {
		t.Fatal(server.Stderr())
	}
	for began := time.Now(); notifications.Load() < payments; {
		if time.Since(began) > patience {
			t.Fatalf("%d of %d notifications came", notifications.Load(), payments)
		}
		answer, err := server.Anyone().Get("/api/v1/health")
		testkit.WantStatus(t, answer, err, 200)
	}
	if files := countStoreFiles(t, server.Dir); files <= filesBefore {
		t.Errorf("the store has %d files, and had %d: it opened none, so this proves little", files, filesBefore)
	}
	if !strings.Contains(server.Stderr(), "connections are at their bound") {
		t.Errorf("the log does not say so: %s", server.Stderr())
	}
	if code := server.Stop(); code != cli.ExitClean {
		t.Errorf("exit %d\n%s", code, server.Stderr())
	}
}

func describeAnswer(a *testkit.Answer) string {
	if a == nil {
		return ""
	}
	return fmt.Sprint(a.Status, " ", string(a.Body))
}

// countStoreFiles counts the store's files of tables and of long values.
func countStoreFiles(t *testing.T, dir string) (n int) {
	t.Helper()
	for _, pattern := range [...]string{"*.sst", "values/*"} {
		found, err := filepath.Glob(filepath.Join(dir, "store", pattern))
		if err != nil {
			t.Fatal(err)
		}
		n += len(found)
	}
	return n
}

// If the process has no free file handle, it accepts connections again as soon as it has one. The test lowers the server's soft
// limit. When the server raises this limit again, it has free handles.
func TestAcceptRetriesWithoutFileHandles(t *testing.T) {
	t.Parallel()
	server := testkit.Start(t, testkit.Options{Flags: []string{"--tls", "off"}})
	var oldLimit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &oldLimit); err != nil {
		t.Fatal(err)
	}
	const acceptFailure = "no connection could be accepted"
	for n := 0; n < 10 && !strings.Contains(server.Stderr(), acceptFailure); n++ { // repeated, because the server may raise the limit again before it has to accept the connection
		if err := unix.Prlimit(server.PID(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: oldLimit.Max}, nil); err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", strings.TrimPrefix(server.BaseURL, "http://")) // the kernel's queue takes the connection
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, "GET /api/v1/health HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		answer, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil || answer.StatusCode != 200 {
			t.Fatalf("%v %v\n%s", answer, err, server.Stderr())
		}
	}
	if log := server.Stderr(); !strings.Contains(log, acceptFailure) || !strings.Contains(log, "too many open files") {
		t.Errorf("the log has %s", log)
	}
	testkit.Pay(t, server.Partner(), "after")
}

// A request may announce a large body and never send it. Such requests take no memory for the body, and they time out.
func TestAnnouncedBodiesTakeNoMemory(t *testing.T) {
	testkit.NotUnderRace(t, reasonReadsMemory)
	const announcedBodies = 3000
	server := testkit.Start(t, testkit.Options{WithoutRaceDetector: true, Flags: []string{"--tls", "off"}})
	testkit.Pay(t, server.Partner(), "before")
	before := peakMemory(t, server)
	var conns []net.Conn
	for i := range announcedBodies {
		c, err := net.Dial("tcp", strings.TrimPrefix(server.BaseURL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		path, key := "/api/v1/transactions", server.Sandbox.APIKey
		if i%3 == 1 {
			key = "mzk_nobody"
		}
		length := 1 << 20
		if i%3 == 2 {
			path, length = "/api/v1/sessions", 64<<10
		}
		if _, err := fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nX-Api-Key: %s\r\nX-Organization-Id: %s\r\nContent-Length: %d\r\n\r\n{\"a\"",
			path, key, server.Sandbox.OrganizationID, length); err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
	}
	testkit.Pay(t, server.Partner(), "during")
	for i, c := range conns {
		if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(c)
		answer, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("promise %d: %v", i, err)
		}
		want := []int{408, 401, 408}[i%3]
		if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != want || !answer.Close {
			t.Fatalf("promise %d: %d, closes %v, %v; want %d", i, answer.StatusCode, answer.Close, err, want)
		}
		if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
			t.Fatalf("promise %d: %v", i, err)
		}
	}
	if grew := peakMemory(t, server) - before; grew > 200<<20 {
		t.Errorf("%d announced bodies took %d MiB", announcedBodies, grew>>20)
	} else {
		t.Logf("%d announced bodies took %d MiB", announcedBodies, grew>>20)
	}
	testkit.Pay(t, server.Partner(), "after")
}

// peakMemory returns the largest memory that the process has had, in bytes.
func peakMemory(t *testing.T, s *testkit.Server) int {
	t.Helper()
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.PID()))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kib, err := strconv.Atoi(fields[1])
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("no VmHWM in %s", content)
	return 0
}
