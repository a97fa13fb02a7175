package simulation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
)

// answerLine is a request and its answer, in the form that `mizan audit verify --answers` reads.
type answerLine struct {
	Method       string          `json:"method"`
	Path         string          `json:"path"`
	Organization string          `json:"organization_id"`
	Body         json.RawMessage `json:"body,omitempty"`
	Key          string          `json:"idempotency_key,omitempty"`
	Status       int             `json:"status"` // 0: no answer came
	Response     json.RawMessage `json:"response,omitempty"`
}

// caller selects the credentials of a request.
type caller uint8

const (
	byPartner caller = iota // the first organization's partner
	bySession               // an administrator of the first organization
	byAuditor
	byOperator // an operator of the platform
)

// answer is the response that a client got. Status 0 means that no response arrived, so the client does not know whether the
// request was carried out.
type answer struct {
	status int
	body   []byte
}

// get returns a member of the answer's JSON as text, or "" if the member does not exist. names is the path to the member: the
// names of the enclosing objects, and then the name of the member. If the answer has a member "data", the path begins there.
func (a answer) get(names ...string) string {
	var value any
	if json.Unmarshal(a.body, &value) != nil {
		return ""
	}
	if object, ok := value.(map[string]any); ok && object["data"] != nil {
		value = object["data"]
	}
	for _, name := range names {
		object, ok := value.(map[string]any)
		if !ok {
			return ""
		}
		value = object[name]
	}
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	}
	return fmt.Sprint(value)
}

// decode decodes the answer's JSON into a value. If the answer has a member "data", only this member is decoded.
func (a answer) decode(into any) error {
	var envelope struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(a.body, &envelope); err != nil {
		return err
	}
	if envelope.Data == nil {
		return json.Unmarshal(a.body, into)
	}
	return json.Unmarshal(envelope.Data, into)
}

// request sends a request of a client and waits for the answer. It stores the request and the answer for the checker.
func (w *world) request(n *node, by caller, method, path, key, body string) answer {
	a := w.exchange(n, by, method, path, key, body)
	if n.isGone() {
		a = answer{} // a real process would have ended before it answered
	}
	line := answerLine{Method: method, Path: path, Organization: w.sandbox.First.Org.String(), Key: key, Status: a.status}
	if body != "" {
		line.Body = json.RawMessage(body)
	}
	if json.Valid(a.body) {
		line.Response = a.body
	}
	w.keep(&line)
	if a.status >= 500 && a.status != http.StatusServiceUnavailable && !w.isHarmed {
		w.recordViolation("%s %s answered %d: %s", method, path, a.status, a.body)
	}
	return a
}

func (w *world) exchange(n *node, by caller, method, path, key, body string) answer {
	r, err := http.NewRequest(method, baseURL+path, bytes.NewReader([]byte(body)))
	if err != nil {
		w.recordViolation("%v", err)
		return answer{}
	}
	if body != "" {
		r.Header.Set("content-type", "application/json")
	}
	if key != "" {
		r.Header.Set("idempotency-key", key)
	}
	r.Header.Set("x-organization-id", w.sandbox.First.Org.String())
	switch by {
	case byPartner:
		r.Header.Set("x-api-key", string(w.sandbox.First.APIKey))
	case bySession:
		r.Header.Set("authorization", "Bearer "+string(w.sandbox.First.SessionToken))
	case byAuditor:
		r.Header.Set("authorization", "Bearer "+string(w.sandbox.First.AuditorToken))
	case byOperator:
		r.Header.Set("authorization", "Bearer "+string(w.sandbox.AdminToken))
	}
	response, err := n.client.Do(r)
	if err != nil {
		return answer{}
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}
	}
	return answer{response.StatusCode, content}
}

// keep stores a line for the checker.
func (w *world) keep(line *answerLine) {
	text, err := json.Marshal(line)
	if err != nil {
		w.recordViolation("%v", err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = append(append(w.answers, text...), '\n')
	if line.Status != 0 {
		w.answerCount++
	}
	if line.Status == http.StatusServiceUnavailable {
		w.refusalCount++
	}
}

// answersFile writes the stored lines to a file and returns its path. If no request was answered yet, it writes no file and
// returns "".
func (w *world) answersFile() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.answerCount == 0 {
		return ""
	}
	path := filepath.Join(w.root, "answers")
	if err := os.WriteFile(path, w.answers, 0o600); err != nil {
		w.violations = append(w.violations, err.Error())
	}
	return path
}
