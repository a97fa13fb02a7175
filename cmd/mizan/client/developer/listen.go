package developer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/go-json-experiment/json"

	"mizan/cmd/mizan/client"
)

// Listen is the command `mizan listen`.
type Listen struct {
	client.AdminFlags
	ForwardTo *string `name:"forward-to" placeholder:"URL" help:"Send each notification to this address too, with the bytes and headers of the ordinary delivery, and show the answer."`
	JSON      bool    `name:"json" help:"Print one JSON object a line: first the stream's secret, then each notification."`
}

// Help returns the text that is shown above the flags.
func (Listen) Help() string {
	return "Shows all notifications of an organization's merchants from now on. The ordinary deliveries continue, but no notify_url is needed. A notification is signed" +
		" with the secret of its terminal or partner, which is not shown. If neither has a secret, the stream's own secret is used, which is printed at the start."
}

// Bounds of one run of `mizan listen`.
const (
	streamSilence    = 45 * time.Second // the server sends something every 15 s
	maxReconnectWait = 10 * time.Second
	forwarders       = 4  // maximum number of notifications that are forwarded at the same time
	maxQueued        = 64 // maximum number of notifications that wait to be forwarded
)

const streamPath = "/notifications/stream"

// listenRun is the state of one run of `mizan listen`.
type listenRun struct {
	*client.Command
	flags     *Listen
	forwarder *forwarder // nil: nothing is forwarded

	streamID  string // id of the stream; a new connection with the same id keeps the stream's secret; empty before the first connection
	connected bool   // the last attempt to connect succeeded

	printing sync.Mutex // held while a line is printed, because several goroutines print
	failure  error      // first write error of stdout; guarded by printing
}

// Run prints notifications until the user interrupts it. It ends earlier if stdout can't be written, or if follow returns an
// error.
func (c *Listen) Run(s *client.Streams) error {
	r := &listenRun{Command: &client.Command{Name: "listen", Streams: s, JSON: c.JSON}, flags: c}
	if c.ForwardTo != nil {
		address, err := forwardAddress(*c.ForwardTo)
		if err != nil {
			return r.Misused("--forward-to: %v", err)
		}
		r.forwarder = newForwarder(address)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	queue := make(chan *notification, maxQueued)
	var workers sync.WaitGroup
	for range forwarders {
		workers.Go(func() {
			for n := range queue {
				if err := r.handle(ctx, n); err != nil {
					cancel() // nobody reads stdout any more
				}
			}
		})
	}
	err := r.follow(ctx, queue)
	close(queue)
	workers.Wait()
	if r.failure != nil {
		return r.failure
	}
	return err
}

// forwardAddress checks the address of --forward-to. If the address has no scheme, forwardAddress adds http://, because such an
// address names this machine or a machine in its network.
func forwardAddress(text string) (string, error) {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", errors.New("want an address such as http://localhost:8080/webhooks")
	}
	return u.String(), nil
}

// follow reads the stream until ctx ends, and connects again whenever the stream breaks off. It returns an error if the first
// attempt to connect fails. If a later attempt fails, it returns an error only for the exit code ExitMisused, because a retry
// would then fail too.
func (r *listenRun) follow(ctx context.Context, queue chan<- *notification) error {
	wait := time.Second
	for isFirst := true; ; isFirst = false {
		r.connected = false
		err := r.readStream(ctx, queue)
		if ctx.Err() != nil {
			return nil
		}
		var fault *client.Fault
		if errors.As(err, &fault) && (isFirst && !r.connected || fault.Code == client.ExitMisused) {
			return err
		}
		if r.connected {
			wait = time.Second
			r.Note("%v; connecting again", err)
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		wait = min(2*wait, maxReconnectWait)
	}
}

// readStream connects and reads until the stream ends. It resolves the flags each time, because a sandbox that was restarted
// may have another address. The error says why the stream ended.
func (r *listenRun) readStream(ctx context.Context, queue chan<- *notification) (err error) {
	if r.Client, err = r.flags.Open(); err != nil {
		return r.Misused("%v", err)
	}
	query := url.Values{}
	if r.streamID != "" {
		query.Set("stream_id", r.streamID)
	}
	body, err := r.Stream(ctx, streamPath, query, streamSilence)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	events := newEventReader(body)
	for {
		name, data, err := events.next()
		if err != nil {
			return fmt.Errorf("the connection to %s broke off: %w", r.Client.BaseURL, err)
		}
		switch name {
		case "ready":
			if err := r.onReady(data); err != nil {
				return err
			}
		case "notification":
			n := new(notification)
			if n.raw, err = client.ParseObject(data); err != nil || json.Unmarshal(data, n) != nil {
				return r.Failed("the answer is not the server's")
			}
			select {
			case queue <- n:
			case <-ctx.Done():
				return ctx.Err()
			}
		case "end":
			var end struct {
				Message string `json:"message"`
			}
			if json.Unmarshal(data, &end) != nil || end.Message == "" {
				end.Message = "the server ended the stream"
			}
			return errors.New(client.Printable(end.Message))
		}
	}
}

// onReady handles the first event of a stream. If the stream is new, onReady prints the stream's signing secret.
func (r *listenRun) onReady(data []byte) error {
	ready, err := client.ParseObject(data)
	if err != nil {
		return r.Failed("the answer is not the server's")
	}
	isContinued := r.streamID != ""
	id, _ := ready.Value("stream_id")
	organization, _ := ready.Value("organization_id")
	secret, _ := ready.Value("secret")
	r.streamID, r.connected = client.FormatValue(id), true
	switch {
	case isContinued:
		r.Note("connected again; what was notified in the meantime is not shown: mizan admin deliveries list")
		return nil
	case r.JSON:
		return r.print(string(ready.Raw))
	}
	r.Note("listening to organization %s at %s; end with Ctrl-C", client.FormatValue(organization), r.Client.BaseURL)
	return r.print("signing secret where none is set: " + client.FormatValue(secret))
}

// print prints a line to stdout.
func (r *listenRun) print(line string) error {
	r.printing.Lock()
	defer r.printing.Unlock()
	if r.failure == nil {
		_, r.failure = fmt.Fprintln(r.Streams.Out, line)
	}
	return r.failure
}

// notification is a notification as the stream sends it.
type notification struct {
	Type         string            `json:"type"`
	Event        *string           `json:"event_id"`
	Transaction  *string           `json:"transaction_id"`
	Subscription *string           `json:"subscription_id"`
	Headers      map[string]string `json:"headers"`
	Body         string            `json:"body"`

	raw client.Object
}

// handle forwards a notification if the user wants that, and prints a line about the notification.
func (r *listenRun) handle(ctx context.Context, n *notification) error {
	var a *forwardResult
	if r.forwarder != nil {
		a = r.forwarder.send(ctx, n)
	}
	if !r.JSON {
		return r.print(n.line(a, client.TerminalWidth(r.Streams.Out)))
	}
	line := string(n.raw.Raw)
	if a != nil {
		forwarded, err := json.Marshal(a)
		if err != nil {
			return err
		}
		line = strings.TrimSuffix(line, "}") + `,"forwarded":` + string(forwarded) + "}"
	}
	return r.print(line)
}

// line formats a notification for people. It shows the local time, the type, the id of the transaction or subscription, and the
// response of the address to which the notification was forwarded. On a narrow terminal the response gets a line of its own.
func (n *notification) line(a *forwardResult, width int) string {
	line := time.Now().Format(time.TimeOnly) + "  " + fmt.Sprintf("%-29s", n.Type) + "  "
	switch {
	case n.Transaction != nil:
		line += *n.Transaction
	case n.Subscription != nil:
		line += *n.Subscription
	}
	line = client.Printable(strings.TrimRight(line, " "))
	if a == nil {
		return line
	}
	outcome := fmt.Sprintf("-> %d %s in %d ms", a.Status, http.StatusText(a.Status), a.Duration)
	if a.Error != nil {
		outcome = "-> " + client.Printable(*a.Error)
	}
	if width > 0 && len(line)+2+len(outcome) > width {
		return line + "\n" + strings.Repeat(" ", len(time.TimeOnly)+2) + outcome
	}
	return line + "  " + outcome
}
