package webhook_test

import (
	"bufio"
	"io"
	"log/slog"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mizan/actors/notifier/webhook"
	"mizan/internal/clock"
	"mizan/ledger/payment"
	"mizan/ledger/subscription"
)

// firstColumnWords returns the words in backquotes in the first column of the table with this header in
// docs/webhooks.md.
func firstColumnWords(t *testing.T, tableHeader string) (words []string) {
	t.Helper()
	_, table, found := strings.Cut(readWebhooksPage(t), "\n"+tableHeader+"\n")
	if !found {
		t.Fatalf("docs/webhooks.md has no table %s", tableHeader)
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		for _, word := range regexp.MustCompile("`(.*?)`").FindAllStringSubmatch(strings.SplitN(line, "|", 3)[1], -1) {
			words = append(words, word[1])
		}
	}
	return words
}

// TestDocumentationListsEveryEventType compares the event types that docs/webhooks.md lists with those that
// the state machines send.
func TestDocumentationListsEveryEventType(t *testing.T) {
	t.Parallel()
	var sentTypes []string
	for n := byte(0); ; n++ {
		status, documented := payment.NotifiedStatus(n)
		if !documented {
			break
		}
		sentTypes = append(sentTypes, "transaction."+string(status))
	}
	if listed := firstColumnWords(t, "| type | when | final |"); !slices.Equal(listed, sentTypes) {
		t.Errorf("the page lists %q, sent are %q", listed, sentTypes)
	}
	_, row, _ := strings.Cut(readWebhooksPage(t), "\n| `event` | ")
	row, _, _ = strings.Cut(row, "\n")
	for _, event := range []subscription.Event{subscription.Renewed, subscription.Unpaid, subscription.Pause, subscription.Resume, subscription.Cancel} {
		if name, documented := event.NotificationName(); !documented || !strings.Contains(row, "`"+name+"`") {
			t.Errorf("the page has no %q for %s", name, event)
		}
	}
}

// TestDocumentationsExampleIsAsSent sends the example notification of docs/webhooks.md, and compares
// the request that arrives with the example, byte for byte.
func TestDocumentationsExampleIsAsSent(t *testing.T) {
	t.Parallel()
	example := strings.TrimSuffix(codeBlock(t, "example: delivery"), "\n")
	envelope := regexp.MustCompile(`\n\n\{"event_id":"(.*?)","timestamp":(\d+),"type":"(.*?)","data":(.*)\}$`).FindStringSubmatch(example)
	if envelope == nil {
		t.Fatalf("no envelope in\n%s", example)
	}
	timestamp, err := strconv.ParseInt(envelope[2], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	arrived := make(chan string, 1)
	go func() { arrived <- readRequest(listener, len(strings.SplitN(example, "\n\n", 2)[1])) }()
	sender := webhook.New(webhook.Options{AllowPrivate: true, Clock: clock.NewManual(time.Unix(timestamp, 0)), Log: slog.New(slog.DiscardHandler)})
	defer sender.Close()
	sender.Deliver(&webhook.Delivery{
		URL: "http://" + listener.Addr().String() + "/webhooks", Secret: "whsec-example",
		EventID: envelope[1], Type: envelope[3], Data: []byte(envelope[4]),
	})
	select {
	case got := <-arrived:
		got = strings.Replace(strings.ReplaceAll(got, "\r\n", "\n"), listener.Addr().String(), "shop.example", 1)
		if got != example {
			t.Errorf("sent\n%s\nwant\n%s", got, example)
		}
	case <-time.After(patience):
		t.Fatalf("nothing arrived within %v", patience)
	}
}

// readRequest accepts a connection, and returns its first request, whose body has bodySize bytes.
func readRequest(l net.Listener, bodySize int) string {
	conn, err := l.Accept()
	if err != nil {
		return err.Error()
	}
	defer func() { _ = conn.Close() }()
	r := bufio.NewReader(conn)
	var text strings.Builder
	for !strings.HasSuffix(text.String(), "\r\n\r\n") {
		line, err := r.ReadString('\n')
		if text.WriteString(line); err != nil {
			return text.String()
		}
	}
	_, _ = io.CopyN(&text, r, int64(bodySize))
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	return text.String()
}

// TestDocumentationListsTheSendersFailures compares the table in docs/webhooks.md with the failures that an
// attempt can have.
func TestDocumentationListsTheSendersFailures(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("failure.go")
	if err != nil {
		t.Fatal(err)
	}
	words := firstColumnWords(t, "| `error` | cause or what to check |")
	for _, word := range words {
		if !strings.Contains(string(source), strconv.Quote(word)) {
			t.Errorf("no attempt says %q", word)
		}
	}
	if len(words) < 10 {
		t.Errorf("the page has the words %q for failures", words)
	}
}
