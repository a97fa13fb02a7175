package mizan

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// seen is a request as the server received it.
type seen struct {
	method, uri string
	header      http.Header
	body        string
}

// reply is a response of the server. A status of 0 drops the connection.
type reply struct {
	status int
	body   string
	header map[string]string
}

// server responds with the replies, one after the other; the last one is repeated.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	received []seen // guarded by mu
	waits    []time.Duration
	client   *Client
}

func newServer(t *testing.T, replies ...reply) *server {
	t.Helper()
	s := new(server)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		s.mu.Lock()
		s.received = append(s.received, seen{r.Method, r.RequestURI, r.Header, string(body)})
		answer := replies[min(len(s.received), len(replies))-1]
		s.mu.Unlock()
		if answer.status == 0 {
			panic(http.ErrAbortHandler)
		}
		for name, value := range answer.header {
			w.Header().Set(name, value)
		}
		w.WriteHeader(answer.status)
		_, _ = io.WriteString(w, answer.body)
	}))
	t.Cleanup(s.Close)
	var err error
	s.client, err = New(Config{URL: s.URL, APIKey: "mzk_test", OrganizationID: "11111111-2222-4333-8444-555555555555"})
	if err != nil {
		t.Fatal(err)
	}
	s.client.wait = func(ctx context.Context, d time.Duration) error {
		s.waits = append(s.waits, d)
		return ctx.Err()
	}
	return s
}

func (s *server) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.received)
}

const paid = `{"id":"7a0f9a3e-52c7-4c0e-9f38-0d1c7e0c6a55","txid":"order-1","status":"charged","amount":"1000","scale":2,"merchant_meta":{"n":12345678901234567890}}`

func TestACreateIsSentAsDescribed(t *testing.T) {
	t.Parallel()
	s := newServer(t, reply{201, paid, map[string]string{"x-request-id": "r-1"}})
	var info ResponseInfo
	transaction, err := s.client.CreateTransaction(t.Context(), TransactionCreate{Type: TypePayment, Amount: MinorUnits(1000), TxID: "order-1", Hosted: true},
		WithResponseInfo(&info))
	if err != nil {
		t.Fatal(err)
	}
	request := s.requests()[0]
	if request.method != "POST" || request.uri != "/api/v1/transactions" || request.header.Get("x-api-key") != "mzk_test" ||
		request.header.Get("x-organization-id") == "" || request.header.Get("content-type") != "application/json" || len(request.header.Get("idempotency-key")) < 20 {
		t.Errorf("%+v", request)
	}
	if want := `{"params":{"type":"payment","amount":"1000","txid":"order-1","hosted":true}}`; request.body != want {
		t.Errorf("%s, want %s", request.body, want)
	}
	if transaction.Amount != MinorUnits(1000) || transaction.Status != StatusCharged || !transaction.Status.IsFinal() || *transaction.Scale != 2 ||
		transaction.MerchantMeta["n"] != json.Number("12345678901234567890") {
		t.Errorf("%+v", transaction)
	}
	if info.RequestID != "r-1" || info.Status != 201 || info.Attempts != 1 || info.IdempotencyKey != request.header.Get("idempotency-key") {
		t.Errorf("%+v", info)
	}
}

func TestARepetitionHasTheSameKeyAndBytes(t *testing.T) {
	t.Parallel()
	for _, status := range []int{0, 408, 429, 500, 502, 503, 504} {
		s := newServer(t, reply{status: status, body: `{"error":"x","message":"y"}`}, reply{status: status}, reply{status: 201, body: paid})
		if _, err := s.client.RefundAll(t.Context(), "id-1"); err != nil {
			t.Errorf("%d: %v", status, err)
		}
		if len(s.requests()) != 3 || len(s.waits) != 2 {
			t.Fatalf("%d: %d requests, %v", status, len(s.requests()), s.waits)
		}
		for _, request := range s.requests()[1:] {
			if request.body != s.requests()[0].body || request.header.Get("idempotency-key") != s.requests()[0].header.Get("idempotency-key") {
				t.Errorf("%d: %+v, then %+v", status, s.requests()[0], request)
			}
		}
	}
}

func TestARefusalIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 400, 401, 403, 404, 405, 409, 413, 415, 422, 431, 501, 505} {
		s := newServer(t, reply{status: status, header: map[string]string{"location": "/elsewhere"}})
		_, err := s.client.CancelTransaction(t.Context(), "id-1")
		var refusal *Error
		if !errors.As(err, &refusal) || refusal.Status != status || len(s.requests()) != 1 {
			t.Errorf("%d: %v, %d requests", status, err, len(s.requests()))
		}
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	t.Parallel()
	s := newServer(t, reply{status: 503, header: map[string]string{"retry-after": "7"}}, reply{status: 201, body: paid})
	if _, err := s.client.RefundAll(t.Context(), "id-1"); err != nil || s.waits[0] < 7*time.Second || s.waits[0] > 8*time.Second {
		t.Errorf("%v, waited %v", err, s.waits)
	}
	// The client does not wait beyond the end of the context, or for too long. The caller gets the error instead.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	for _, c := range []struct {
		ctx   context.Context
		after string
	}{{ctx, "7"}, {t.Context(), "3600"}, {t.Context(), time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}} {
		s = newServer(t, reply{status: 503, header: map[string]string{"retry-after": c.after}})
		_, err := s.client.RefundAll(c.ctx, "id-1")
		var refusal *Error
		if !errors.As(err, &refusal) || !errors.Is(err, ErrUnavailable) || refusal.RetryAfter < 7*time.Second || len(s.waits) != 0 || !refusal.OutcomeUnknown() {
			t.Errorf("%s: %v, waited %v", c.after, err, s.waits)
		}
	}
}

func TestRepetitionsHaveABound(t *testing.T) {
	t.Parallel()
	s := newServer(t, reply{})
	_, err := s.client.Refund(t.Context(), "id-1", MinorUnits(1), WithIdempotencyKey("my-key"))
	var unknown *NoResponseError
	if !errors.As(err, &unknown) || unknown.Attempts != 4 || unknown.IdempotencyKey != "my-key" || len(s.requests()) != 4 {
		t.Errorf("%v, %d requests", err, len(s.requests()))
	}
	for i, wait := range s.waits {
		if limit := firstBackOff << (i + 1); wait < limit/2 || wait > limit {
			t.Errorf("wait %d is %v", i, wait)
		}
	}
	if wait := backOff(1000); wait > maxBackOff {
		t.Errorf("%v", wait)
	}
}

// A proxy may answer instead of the service. Then the write may have been carried out, and only its key makes a repetition safe.
func TestAResponseThatIsNotOfTheServiceLeavesTheOutcomeUnknown(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"<html>", "", "[]"} {
		s := newServer(t, reply{status: 200, body: body})
		_, err := s.client.RefundAll(t.Context(), "id-1")
		var unknown *NoResponseError
		if !errors.As(err, &unknown) || unknown.IdempotencyKey != s.requests()[0].header.Get("idempotency-key") || unknown.Attempts != 1 || len(s.requests()) != 1 {
			t.Errorf("%q: %v, %d requests", body, err, len(s.requests()))
		}
	}
}

// Nothing has been sent, so the error must not say that the outcome is unknown.
func TestAKeyThatNoHeaderCanHaveIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t, reply{status: 201, body: paid})
	for _, key := range []string{"a\nb", "é", "\x7f", strings.Repeat("k", 256)} {
		_, err := s.client.RefundAll(t.Context(), "id-1", WithIdempotencyKey(key))
		var unknown *NoResponseError
		if err == nil || errors.As(err, &unknown) || len(s.requests()) != 0 || len(s.waits) != 0 {
			t.Errorf("%.10q: %v, %d requests", key, err, len(s.requests()))
		}
	}
	longest := strings.Repeat("k", 253) + " "
	if _, err := s.client.RefundAll(t.Context(), "id-1", WithIdempotencyKey(longest+"k")); err != nil {
		t.Error(err)
	}
}

// Without an Idempotency-Key a repeated write could be carried out twice.
func TestAWriteWithoutAKeyIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, status := range []int{0, 503} {
		s := newServer(t, reply{status: status})
		if err := nothing(t.Context(), s.client, &call{method: "POST", path: "/api/v1/x"}, nil); err == nil || len(s.requests()) != 1 {
			t.Errorf("%d: %v, %d requests", status, err, len(s.requests()))
		}
	}
}

func TestAResponseHasABound(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the race detector takes long for so many bytes")
	}
	long := `{"id":"` + strings.Repeat("x", maxResponse-len(`{"id":""}`)) + `"}`
	for body, fits := range map[string]bool{long: true, long + " ": false} {
		s := newServer(t, reply{status: 200, body: body})
		if _, err := s.client.GetTransaction(t.Context(), "id-1"); (err == nil) != fits || errors.Is(err, errLongResponse) == fits || len(s.requests()) != 1 {
			t.Errorf("%d bytes: %v, %d requests", len(body), err, len(s.requests()))
		}
	}
}

func TestACancelledCallEnds(t *testing.T) {
	t.Parallel()
	s := newServer(t, reply{status: 503})
	ctx, cancel := context.WithCancel(t.Context())
	s.client.wait = func(context.Context, time.Duration) error {
		cancel()
		return ctx.Err()
	}
	if _, err := s.client.GetTransaction(ctx, "id-1"); !errors.Is(err, ErrUnavailable) || len(s.requests()) != 1 {
		t.Errorf("%v, %d requests", err, len(s.requests()))
	}
	if _, err := s.client.GetTransaction(ctx, "id-1"); !errors.Is(err, context.Canceled) || len(s.requests()) != 1 {
		t.Errorf("%v, %d requests", err, len(s.requests()))
	}
}

func TestErrorsAreTyped(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer reply
		want   Error
		kind   error
	}{
		{reply{404, `{"error":"not_found","message":"the transaction does not exist"}`, map[string]string{"x-request-id": "r-1"}},
			Error{Status: 404, Code: CodeNotFound, Message: "the transaction does not exist", RequestID: "r-1"}, ErrNotFound},
		{reply{422, `{"errors":[{"code":"invalid","detail":"is required","field":"amount"}]}`, nil},
			Error{Status: 422, Code: CodeInvalid, Fields: []FieldError{{"amount", "invalid", "is required"}}}, ErrInvalid},
		{reply{422, `{"error":"unprocessable_entity","details":{"region":["is wrong"]}}`, nil},
			Error{Status: 422, Code: CodeUnprocessableEntity, Fields: []FieldError{{"region", "", "is wrong"}}}, ErrInvalid},
		{reply{401, `{"error":"unauthorized"}`, nil}, Error{Status: 401, Code: CodeUnauthorized}, ErrUnauthorized},
		{reply{413, `<html>`, nil}, Error{Status: 413, Message: "Request Entity Too Large"}, nil},
	} {
		s := newServer(t, c.answer)
		_, err := s.client.GetTransaction(t.Context(), "id-1")
		var got *Error
		if !errors.As(err, &got) {
			t.Fatal(err)
		}
		if got.Status != c.want.Status || got.Code != c.want.Code || got.Message != c.want.Message || got.RequestID != c.want.RequestID ||
			!slices.Equal(got.Fields, c.want.Fields) || c.kind != nil && !errors.Is(err, c.kind) || errors.Is(err, ErrConflict) || got.OutcomeUnknown() {
			t.Errorf("%+v, want %+v", got, c.want)
		}
	}
}

// With an empty id, the path would be that of another operation, such as the list.
func TestAnEmptyIDIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, reply{status: 200, body: "{}"})
	for _, id := range []string{"", ".", ".."} {
		if _, err := s.client.GetTransaction(t.Context(), id); err == nil {
			t.Errorf("%q is sent", id)
		}
	}
	if _, err := s.client.GetTransaction(t.Context(), "a/b?c"); err != nil || s.requests()[0].uri != "/api/v1/transactions/a%2Fb%3Fc" {
		t.Errorf("%v %+v", err, s.requests())
	}
	if _, err := s.client.ListTransactions(t.Context(), ListTransactionsQuery{Status: "a b+c", Limit: 5, AmountFrom: MinorUnits(3)}); err != nil ||
		s.requests()[1].uri != "/api/v1/transactions?amount_from=3&limit=5&status=a%20b%2Bc" {
		t.Errorf("%v %+v", err, s.requests()[1])
	}
}

// An empty network selects rows without a network, and an absent one selects all rows.
func TestAnEmptyNetworkIsSent(t *testing.T) {
	t.Parallel()
	s := newServer(t, reply{status: 200, body: `{"data":[]}`})
	for _, query := range []ListBalancesQuery{{}, {Network: Ptr("")}, {Network: Ptr("tron")}} {
		if _, err := s.client.ListBalances(t.Context(), query); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []string{"/api/v1/balances", "/api/v1/balances?network=", "/api/v1/balances?network=tron"} {
		if got := s.requests()[i].uri; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

func TestAPatchHasOnlyItsChanges(t *testing.T) {
	t.Parallel()
	s := newServer(t, reply{status: 200, body: `{"data":{"id":"l","amount":{"default":1999}}}`})
	link, err := s.client.PatchLink(t.Context(), "l", LinkPatch{Name: Set("Tea"), Description: Remove[string](),
		Amount: Set(LinkPatchAmount{Default: Set(MinorUnits(1999).AsNumber())})})
	if err != nil || link.Amount.Default.Amount != MinorUnits(1999) {
		t.Fatal(link, err)
	}
	if want := `{"amount":{"default":1999},"name":"Tea","description":null}`; s.requests()[0].body != want {
		t.Errorf("%s, want %s", s.requests()[0].body, want)
	}
}

func TestAFileIsSentInAForm(t *testing.T) {
	t.Parallel()
	s := newServer(t, reply{}, reply{status: 201, body: `{"data":{"url":"u","width":40,"height":30}}`})
	image, err := s.client.UploadImage(t.Context(), []byte("PNG…"))
	if err != nil || image.Width != 40 || s.requests()[0].body != s.requests()[1].body || !strings.Contains(s.requests()[1].body, "PNG…") ||
		!strings.HasPrefix(s.requests()[1].header.Get("content-type"), "multipart/form-data; boundary=") {
		t.Errorf("%v %v %+v", image, err, s.requests())
	}
}

func TestPagesAreFollowed(t *testing.T) {
	t.Parallel()
	first := reply{status: 200, body: `{"data":[{"id":"1"},{"id":"2"}],"cursor":{"cursor_field":"started","cursor_value":"c-1"}}`}
	empty := reply{status: 200, body: `{"data":[],"cursor":{"cursor_field":"started","cursor_value":"c-2"}}`} // a page may be empty before the last
	last := reply{status: 200, body: `{"data":[{"id":"3"}],"cursor":{"cursor_field":"started","cursor_value":null}}`}
	ids := func(s *server, most int) (list string, failure error) {
		for transaction, err := range s.client.AllTransactions(t.Context(), ListTransactionsQuery{Env: EnvTest}) {
			if err != nil {
				return list, err
			}
			list += transaction.ID
			if len(list) == most {
				break
			}
		}
		return list, nil
	}
	s := newServer(t, first, empty, last)
	if list, err := ids(s, 9); list != "123" || err != nil || s.requests()[2].uri != "/api/v1/transactions?cursor=c-2&env=test" {
		t.Errorf("%s %v %+v", list, err, s.requests())
	}
	s = newServer(t, first, last)
	if list, err := ids(s, 1); list != "1" || err != nil || len(s.requests()) != 1 {
		t.Errorf("%s %v, %d requests", list, err, len(s.requests()))
	}
	s = newServer(t, first, reply{status: 422})
	if list, err := ids(s, 9); list != "12" || !errors.Is(err, ErrInvalid) {
		t.Errorf("%s %v", list, err)
	}
	s = newServer(t, first) // a server that never ends
	if list, err := ids(s, 9); list != "1212" || err == nil {
		t.Errorf("%s %v", list, err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	right := Config{URL: "https://pay.example/", APIKey: "k", OrganizationID: "o"}
	if client, err := New(right); err != nil || client.base != "https://pay.example" {
		t.Errorf("%v", err)
	}
	noPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(noPEM, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Config){
		"no URL": func(c *Config) { c.URL = "" }, "no key": func(c *Config) { c.APIKey = "" }, "no organization": func(c *Config) { c.OrganizationID = "" },
		"no scheme": func(c *Config) { c.URL = "pay.example" }, "another scheme": func(c *Config) { c.URL = "ftp://pay.example" },
		"a path": func(c *Config) { c.URL += "api/v1" }, "a user": func(c *Config) { c.URL = "https://a:b@pay.example" },
		"a key with a line break": func(c *Config) { c.APIKey = "mzk_x\n" }, "an organization with a line break": func(c *Config) { c.OrganizationID += "\n" },
		"no file": func(c *Config) { c.CAFile = noPEM + "x" }, "no PEM": func(c *Config) { c.CAFile = noPEM },
		"both": func(c *Config) { c.HTTPClient, c.CAFile = http.DefaultClient, noPEM },
	} {
		wrong := right
		change(&wrong)
		if _, err := New(wrong); err == nil || strings.Contains(err.Error(), "a:b") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The client does not repeat a call after an untrusted certificate, because a repetition would fail too.
func TestOnlyTheGivenAuthorityIsTrusted(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		_, _ = io.WriteString(w, paid)
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it would report the client that trusts nobody
	s.StartTLS()
	defer s.Close()
	caFile := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(caFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	config := Config{URL: s.URL, APIKey: "k", OrganizationID: "o"}
	for _, file := range []string{"", caFile} {
		config.CAFile = file
		client, err := New(config)
		if err != nil {
			t.Fatal(err)
		}
		var unknown *NoResponseError
		_, err = client.GetTransaction(t.Context(), "id-1")
		if file == "" && (!errors.As(err, &unknown) || unknown.Attempts != 1) || file != "" && err != nil {
			t.Errorf("with %q: %v", file, err)
		}
	}
	if n := requests.Load(); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestTheEnvironmentIsRead(t *testing.T) {
	t.Setenv(EnvURL, "u")
	t.Setenv(EnvAPIKey, "k")
	t.Setenv(EnvOrganizationID, "o")
	t.Setenv(EnvCAFile, "c")
	if c := ConfigFromEnvironment(); c.URL != "u" || c.APIKey != "k" || c.OrganizationID != "o" || c.CAFile != "c" {
		t.Errorf("%+v", c)
	}
}
