package stripestub

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

const maxBodyBytes = 1 << 20

// call is a request that is being executed.
type call struct {
	Request
	form
	id            string // in the path
	apiVersion    string
	isPublishable bool // made with the publishable key
}

// answer is a response: its status and its body.
type answer struct {
	status    int
	body      []byte
	requestID string // of the first request, if this is a replay
}

// serve handles a request: a call of the API, or the payer's page for 3-D Secure.
func (s *Stub) serve(w http.ResponseWriter, r *http.Request) {
	if token, ok := strings.CutPrefix(r.URL.Path, challengePath); ok {
		s.serveChallenge(w, r, token)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if err != nil {
		return // the connection is broken
	}
	c := &call{Request: Request{ID: newID("req"), Method: r.Method, Path: r.URL.Path, IdempotencyKey: r.Header.Get("Idempotency-Key")}}
	if r.Method != http.MethodPost {
		c.IdempotencyKey = ""
	}
	query := r.URL.RawQuery
	if r.Method == http.MethodPost {
		query = strings.Trim(query+"&"+string(body), "&")
	}
	values, err := url.ParseQuery(query)
	c.form, c.Params = newForm(values), withoutCards(values)
	refusal := s.authorize(c, r)
	if err != nil {
		refusal = invalid("", "", "Invalid form data: %v", err)
	}
	s.answer(w, c, refusal)
}

// answer executes a call and writes its answer, with the faults that are planned for it.
func (s *Stub) answer(w http.ResponseWriter, c *call, refusal *failure) {
	s.lock()
	planned := s.planFor(c)
	s.requests = append(s.requests, c.Request)
	var replay *answer
	if refusal == nil {
		replay, refusal = s.claimKey(c)
	}
	s.mu.Unlock()
	isClaimed := refusal == nil && replay == nil
	if planned != nil && !planned.After {
		if planned.wait(); planned.Effect != None {
			if isClaimed {
				s.releaseKey(c)
			}
			planned.apply(w, c, nil)
			return
		}
	}
	result := replay
	switch {
	case refusal != nil:
		result = s.errorAnswer(c, refusal)
	case replay == nil:
		result = s.execute(c)
	}
	if planned != nil && planned.After {
		if planned.wait(); planned.Effect == Fail {
			result = planned.failureAnswer(c)
		}
	}
	if isClaimed {
		s.storeAnswer(c, result)
	}
	if planned != nil && planned.After && planned.Effect != None {
		planned.apply(w, c, result)
		return
	}
	write(w, c, result, replay != nil)
}

// execute checks the parameters and runs the call. If the parameters are wrong, the idempotency key is released.
func (s *Stub) execute(c *call) *answer {
	s.lock()
	defer s.mu.Unlock()
	r, id := findRoute(c.Method, c.Path)
	if r == nil {
		s.forgetKey(c)
		f := invalid("", "", "Unrecognized request URL (%s: %s). Please see https://stripe.com/docs or we can help at https://support.stripe.com/.", c.Method, c.Path)
		f.status = http.StatusNotFound
		return s.errorAnswer(c, f)
	}
	c.id = id
	if f := c.check(r.params); f != nil {
		s.forgetKey(c)
		return s.errorAnswer(c, f)
	}
	s.current = c
	result, f := r.run(s, c)
	s.current = nil
	if f == nil {
		f = s.expandAll(result, c.form["expand[]"])
	}
	if f != nil {
		return s.errorAnswer(c, f)
	}
	return &answer{status: http.StatusOK, body: encode(result), requestID: c.ID}
}

// authorize checks the API key and the version. Bearer and Basic are accepted, as by Stripe.
func (s *Stub) authorize(c *call, r *http.Request) *failure {
	key, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !isBearer {
		key, _, _ = r.BasicAuth()
	}
	c.apiVersion = r.Header.Get("Stripe-Version")
	set(&c.apiVersion, s.options.APIVersion)
	refuse := func(code, message string) *failure {
		return &failure{status: http.StatusUnauthorized, kind: invalidRequest, code: code, message: message}
	}
	switch {
	case key == "":
		return refuse("", "You did not provide an API key. You need to provide your API key in the Authorization header, using Bearer auth (e.g. 'Authorization: Bearer YOUR_SECRET_KEY'). See https://stripe.com/docs/api#authentication for details, or we can help at https://support.stripe.com/.")
	case key == s.options.PublishableKey && (c.Path == "/v1/payment_methods" || confirmPath.MatchString(c.Path)):
		c.isPublishable = true // Stripe's script makes payment methods and confirms intents in the payer's browser
	case key == s.options.PublishableKey:
		return refuse("secret_key_required", "This API call cannot be made with a publishable API key. Please use a secret API key. You can find a list of your API keys at https://dashboard.stripe.com/account/apikeys.")
	case key != s.options.SecretKey:
		return refuse("", "Invalid API Key provided: "+key[:min(len(key), 8)]+"****")
	}
	if !versionForm.MatchString(c.apiVersion) {
		return invalid("", "", "Invalid Stripe API version: %s", c.apiVersion)
	}
	return nil
}

var confirmPath = regexp.MustCompile(`^/v1/payment_intents/[^/]+/confirm$`)

var versionForm = regexp.MustCompile(`^\d{4}-\d\d-\d\d(\.[a-z_]+)?$`)

func (s *Stub) errorAnswer(c *call, f *failure) *answer {
	f.log = "https://dashboard.stripe.com/test/logs/" + c.ID
	return &answer{status: f.status, body: encode(object{"error": f.json()}), requestID: c.ID}
}

// write writes an answer with the headers of Stripe.
func write(w http.ResponseWriter, c *call, a *answer, isReplay bool) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Request-Id", c.ID)
	h.Set("Stripe-Version", c.apiVersion)
	if c.IdempotencyKey != "" {
		h.Set("Idempotency-Key", c.IdempotencyKey)
		h.Set("Original-Request", a.requestID)
	}
	if isReplay {
		h.Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// encode returns indented JSON, as Stripe writes it. The members are sorted, so equal objects have equal bytes.
func encode(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		panic(err) // objects hold only texts, numbers, lists and maps
	}
	return b.Bytes()
}
