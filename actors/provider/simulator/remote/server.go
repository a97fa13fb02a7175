package remote

import (
	"context"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/valyala/fasthttp"
	"github.com/vmihailenco/msgpack/v5"

	"mizan/actors"
	"mizan/actors/provider/simulator"
	"mizan/internal/clock"
)

// Bounds of the server's connections.
const (
	maxServed   = 4096 // connections; a further one is closed
	readTimeout = 10 * time.Second
	idleTimeout = time.Minute
)

// Server serves a simulator to Providers in other processes.
type Server struct {
	simulator *simulator.Simulator
	clock     clock.Clock
	handlers  map[string]func(*request) error
	http      fasthttp.Server

	mu         sync.Mutex
	listener   net.Listener // guarded by mu; nil before Serve
	isStopping bool         // guarded by mu: Shutdown was called
}

// NewServer makes a server. The clock must be the simulator's.
func NewServer(s *simulator.Simulator, c clock.Clock) *Server {
	server := &Server{simulator: s, clock: c}
	server.handlers = map[string]func(*request) error{
		submitPath: server.submit, inquirePath: server.inquire, reissuePath: server.reissue,
		reportsPath: server.reports, challengePath: server.challenge, decidePath: server.decide,
	}
	server.http = fasthttp.Server{
		Handler: server.handle, Concurrency: maxServed, MaxRequestBodySize: maxRequest,
		ReadTimeout: readTimeout, WriteTimeout: readTimeout, IdleTimeout: idleTimeout, CloseOnShutdown: true,
		NoDefaultServerHeader: true, NoDefaultDate: true, NoDefaultContentType: true, DisablePreParseMultipartForm: true,
		Logger: noLog{}, SecureErrorLogMessage: true,
	}
	return server
}

// noLog is the log of fasthttp. It drops everything, because the messages quote requests.
type noLog struct{}

// Printf implements fasthttp.Logger.
func (noLog) Printf(string, ...any) {}

// errNotLocal is the error of Serve for a listener that other machines can reach.
var errNotLocal = errors.New("remote: the simulator can be served only on a loopback address")

// isLocalListener tells whether a listener can be reached only from this machine.
func isLocalListener(l net.Listener) bool {
	address, ok := l.Addr().(*net.TCPAddr)
	return ok && address.IP.IsLoopback()
}

// Serve serves requests until Shutdown is called or the listener fails. The listener must be on a loopback address.
func (s *Server) Serve(l net.Listener) error {
	if !isLocalListener(l) {
		return errNotLocal
	}
	s.mu.Lock()
	s.listener = l
	isStopping := s.isStopping
	s.mu.Unlock()
	if isStopping {
		return l.Close()
	}
	err := s.http.Serve(clearingListener{l})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isStopping {
		return nil
	}
	return err
}

// Shutdown closes the listener and the idle connections, and waits until the requests in progress are answered or ctx ends.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.isStopping = true
	if s.listener != nil {
		_ = s.listener.Close() // here too, because fasthttp does nothing if its Serve has only just been called
	}
	s.mu.Unlock()
	return s.http.ShutdownWithContext(ctx)
}

// clearingListener returns connections that overwrite what they have received.
type clearingListener struct{ net.Listener }

// Accept implements net.Listener.
func (l clearingListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return clearingConn{c}, nil
}

// Close implements net.Listener. It may be called again.
func (l clearingListener) Close() error {
	if err := l.Listener.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// clearingConn overwrites the memory that a Read may use before it waits. fasthttp reads into one buffer again and again, and
// has used what is in this part of the buffer.
type clearingConn struct{ net.Conn }

// Read implements net.Conn.
func (c clearingConn) Read(p []byte) (int, error) {
	clear(p)
	return c.Conn.Read(p)
}

// request is one request and the memory that it needs.
type request struct {
	ctx     *fasthttp.RequestCtx
	encoder *msgpack.Encoder
	decoder *msgpack.Decoder
	out     buffer
}

var requests = sync.Pool{New: func() any { return &request{encoder: msgpack.NewEncoder(nil), decoder: msgpack.NewDecoder(nil)} }}

// handle handles one request.
func (s *Server) handle(ctx *fasthttp.RequestCtx) {
	defer clear(ctx.PostBody())
	handler := s.handlers[string(ctx.Path())]
	switch {
	case handler == nil:
		ctx.SetStatusCode(fasthttp.StatusNotFound)
		return
	case !ctx.IsPost():
		ctx.SetStatusCode(fasthttp.StatusMethodNotAllowed)
		return
	case string(ctx.Request.Header.ContentType()) != contentType:
		ctx.SetStatusCode(fasthttp.StatusUnsupportedMediaType)
		return
	case !isLocalHost(string(ctx.Host())):
		ctx.SetStatusCode(fasthttp.StatusMisdirectedRequest)
		return
	}
	r := requests.Get().(*request)
	r.ctx = ctx
	switch err := handler(r); {
	case errors.Is(err, errMessage):
		ctx.SetStatusCode(fasthttp.StatusBadRequest)
	case err != nil:
		ctx.SetStatusCode(fasthttp.StatusInternalServerError)
	}
	r.ctx = nil
	r.out.wipe()
	requests.Put(r)
}

// isLocalHost tells whether the value of the header Host names this machine.
func isLocalHost(value string) bool {
	host, _, err := net.SplitHostPort(value)
	return err == nil && isLoopback(host)
}

// read decodes the request's message.
func (r *request) read(message any) error {
	if decode(r.decoder, r.ctx.PostBody(), message) != nil {
		return errMessage
	}
	return nil
}

// answer sends a message with status 200.
func (r *request) answer(message any) error {
	r.encoder.Reset(&r.out)
	if err := r.encoder.Encode(message); err != nil {
		return err
	}
	r.ctx.Response.Header.SetContentType(contentType)
	r.ctx.Response.SetBody(r.out.content)
	return nil
}

// begin begins a context that ends when the caller no longer waits for the answer.
func begin(wait int64) *actors.Deadline {
	ctx := new(actors.Deadline)
	ctx.Begin(context.Background(), min(max(time.Duration(wait), 0), maxWait))
	return ctx
}

func (s *Server) submit(r *request) error {
	var m callMessage
	defer m.wipe()
	if err := r.read(&m); err != nil {
		return err
	}
	call, err := m.call()
	if err != nil {
		return err
	}
	ctx := begin(m.Wait)
	defer ctx.End()
	outcome := s.simulator.Submit(ctx, call)
	return r.answer(newOutcomeMessage(&outcome))
}

func (s *Server) inquire(r *request) error { return s.ask(r, s.simulator.Inquire) }

func (s *Server) reissue(r *request) error { return s.ask(r, s.simulator.Reissue) }

// ask answers an inquiry with a method of the simulator.
func (s *Server) ask(r *request, method func(context.Context, *actors.Inquiry) actors.Outcome) error {
	var m inquiryMessage
	if err := r.read(&m); err != nil {
		return err
	}
	inquiry, err := m.inquiry()
	if err != nil {
		return err
	}
	ctx := begin(m.Wait)
	defer ctx.End()
	outcome := method(ctx, inquiry)
	return r.answer(newOutcomeMessage(&outcome))
}

// reports answers with a page of reports. A page ends between two instants, so the next page begins after the time that this
// one covers.
func (s *Server) reports(r *request) error {
	var m periodMessage
	if err := r.read(&m); err != nil {
		return err
	}
	until := earlier(s.clock.Now(), time.UnixMicro(m.Until).UTC()) // the simulator knows no report of the future
	ctx := begin(m.Wait)
	defer ctx.End()
	list, err := s.simulator.Reports(ctx, time.UnixMicro(m.Since).UTC(), until)
	if err != nil {
		return err
	}
	answer := reportsMessage{Covered: until.UnixMicro()}
	if n := pageEnd(list); n < len(list) {
		answer.Covered, answer.More = list[n-1].At.UnixMicro(), true
		list = list[:n]
	}
	answer.Reports = make([]reportMessage, len(list))
	for i := range list {
		answer.Reports[i] = reportMessage{Org: list[i].Org, Reference: list[i].Reference, Terminal: list[i].Terminal, At: list[i].At.UnixMicro()}
	}
	return r.answer(&answer)
}

// pageEnd returns the number of reports in the first page of a sorted list.
func pageEnd(list []actors.Report) int {
	if len(list) <= pageSize {
		return len(list)
	}
	at := list[pageSize].At // the first report behind the page: those of the same instant go with it
	if first := slices.IndexFunc(list, func(r actors.Report) bool { return r.At.Equal(at) }); first > 0 {
		return first
	}
	next := slices.IndexFunc(list, func(r actors.Report) bool { return r.At.After(at) })
	if next < 0 {
		return len(list)
	}
	return next
}

func (s *Server) challenge(r *request) error {
	var m challengeMessage
	if err := r.read(&m); err != nil {
		return err
	}
	c, err := s.simulator.Challenge(m.Terminal, m.Reference, m.Token)
	switch {
	case errors.Is(err, simulator.ErrNoChallenge):
		return r.answer(&shownMessage{})
	case err != nil:
		return err
	}
	return r.answer(&shownMessage{
		Exists: true, Amount: c.Amount, Currency: string(c.Asset.Currency), Network: string(c.Asset.Network), Env: c.Asset.Env.String(),
		State: c.State, ReturnURL: c.ReturnURL,
	})
}

func (s *Server) decide(r *request) error {
	var m challengeMessage
	if err := r.read(&m); err != nil {
		return err
	}
	returnURL, org, err := s.simulator.Decide(m.Terminal, m.Reference, m.Token, m.Approve)
	switch {
	case errors.Is(err, simulator.ErrNoChallenge):
		return r.answer(&decidedMessage{})
	case err != nil:
		return err
	}
	return r.answer(&decidedMessage{Exists: true, ReturnURL: returnURL, Org: org})
}
