package api_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/valyala/fasthttp/fasthttputil"

	"mizan/api"
	"mizan/ledger"
)

// shardsElsewhere are shards that another node leads.
type shardsElsewhere struct{}

func (shardsElsewhere) Count() int                 { return 2 }
func (shardsElsewhere) ShardOf(ledger.ID) int      { return 1 }
func (shardsElsewhere) Enter(int) (api.Lead, bool) { return nil, false }
func (shardsElsewhere) Leader(int) string          { return "n2" }

// A node passes a stream on while it arrives. If the other node ends in the middle, even between two chunks, no client may take what
// has arrived for the whole answer.
func TestForwardedStreamThatBreaksOffIsNoWholeAnswer(t *testing.T) {
	t.Parallel()
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/csv\r\nTrailer: X-Mizan-Whole\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, c := range map[string]struct {
		answer  string
		isWhole bool
	}{
		"whole":                {head + "5\r\n1,2\r\n\r\n5\r\n3,4\r\n\r\n0\r\nX-Mizan-Whole: 1\r\n\r\n", true},
		"ends after a chunk":   {head + "5\r\n1,2\r\n\r\n", false},
		"ends within a chunk":  {head + "5\r\n1,2\r\n\r\n5\r\n3,", false},
		"ends before a length": {head + "5\r\n1,2\r\n\r\n5", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			other := fasthttputil.NewInmemoryListener()
			t.Cleanup(func() { must(t, other.Close()) })
			go func() {
				conn, err := other.Accept()
				if err != nil {
					return
				}
				defer func() { _ = conn.Close() }()
				if _, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = io.WriteString(conn, c.answer)
				}
			}()
			front := api.NewFront(api.FrontConfig{
				Config: api.Config{Log: slog.New(slog.DiscardHandler), Status: func() api.Status { return api.Status{Core: "ok", DB: "ok"} }},
				Node:   "n1", Others: func() []string { return []string{"n2"} }, Shards: shardsElsewhere{}, MaxPeerConns: 1,
				Dial: func(string) (net.Conn, error) { return other.Dial() },
			})
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			must(t, err)
			ended := make(chan error, 1)
			go func() { ended <- front.Serve(listener) }()
			t.Cleanup(func() {
				must(t, front.Shutdown(context.Background()))
				must(t, <-ended)
			})
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listener.Addr().String()+"/api/v1/ledger/entries", nil)
			must(t, err)
			request.Header.Set("x-organization-id", "0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a01")
			response, err := http.DefaultClient.Do(request)
			must(t, err)
			content, err := io.ReadAll(response.Body)
			if isWhole := err == nil; isWhole != c.isWhole || response.StatusCode != 200 {
				t.Errorf("%d, %q, %v", response.StatusCode, content, err)
			}
			if c.isWhole && string(content) != "1,2\r\n3,4\r\n" || len(response.Trailer) > 0 || response.Header.Get("X-Mizan-Whole") != "" {
				t.Errorf("%q, %v, %v", content, response.Header, response.Trailer)
			}
			must(t, response.Body.Close())
		})
	}
}

// While all connections for forwarded requests are in use, a node still asks the others its own questions, for example whether a
// token is the administration's.
func TestBusyConnectionsLeaveRoomForQuestions(t *testing.T) {
	t.Parallel()
	other := fasthttputil.NewInmemoryListener()
	front := api.NewFront(api.FrontConfig{
		Config: api.Config{Log: slog.New(slog.DiscardHandler), Status: func() api.Status { return api.Status{Core: "ok", DB: "ok"} }},
		Node:   "n1", Others: func() []string { return []string{"n2"} }, Shards: shardsElsewhere{}, MaxPeerConns: 1,
		Dial: func(string) (net.Conn, error) { return other.Dial() },
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- front.Serve(listener) }()
	address := "http://" + listener.Addr().String()
	var asking sync.WaitGroup
	ask := func(path, header, value string) (request *http.Request, answer func(string)) {
		asking.Go(func() {
			request, err := http.NewRequest(http.MethodGet, address+path, nil)
			if err != nil {
				t.Error(err)
				return
			}
			request.Header.Set(header, value)
			if response, err := http.DefaultClient.Do(request); err == nil {
				_ = response.Body.Close()
			}
		})
		conn, err := other.Accept()
		must(t, err)
		request, err = http.ReadRequest(bufio.NewReader(conn))
		must(t, err)
		return request, func(text string) {
			_, _ = io.WriteString(conn, text)
			_ = conn.Close()
		}
	}
	const answer = "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
	forwarded, answerForwarded := ask("/api/v1/ledger/entries", "x-organization-id", "0b7e9a52-8a3f-4d0e-9a54-5c1d1f0b8a01")
	question, answerQuestion := ask("/api/v1/cluster", "authorization", "Bearer mza_x")
	if forwarded.URL.Path != "/api/v1/ledger/entries" || !strings.HasPrefix(question.URL.Path, "/peer/") {
		t.Errorf("%s, then %s", forwarded.URL.Path, question.URL.Path)
	}
	go func() { // what else the node sends, to answer the second client, is answered at once
		for conn, err := other.Accept(); err == nil; conn, err = other.Accept() {
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		}
	}()
	answerQuestion(answer)
	answerForwarded(answer)
	asking.Wait()
	must(t, front.Shutdown(context.Background()))
	must(t, <-ended)
	must(t, other.Close())
}
