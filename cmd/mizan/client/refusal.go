package client

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// refusal decodes all three forms of the server's errors: {errors:[{code,detail,field}]},
// {error,message} and {error}.
type refusal struct {
	Errors []struct {
		Detail string `json:"detail"`
		Field  string `json:"field"`
	} `json:"errors"`
	Error   string `json:"error"`
	Message string `json:"message"`
}

// messages returns the messages of the refusal, one line each; none if the body is not a refusal.
func (r *refusal) messages() (lines []string) {
	for _, p := range r.Errors {
		detail := strings.TrimPrefix(p.Detail, p.Field+" ") // a detail may begin with the field's name, as "login is required" does
		if p.Field != "" {
			detail = p.Field + ": " + detail
		}
		lines = append(lines, detail)
	}
	switch {
	case len(lines) > 0:
	case r.Message != "":
		lines = append(lines, r.Message)
	case r.Error != "":
		lines = append(lines, r.Error)
	}
	return lines
}

// Check returns a response with a status of success, and turns any other response into a *Fault.
func (c *Command) Check(a *Reply) (*Reply, error) {
	if a.Status >= 200 && a.Status < 300 {
		return a, nil
	}
	var answer refusal
	var lines []string
	if json.Unmarshal(a.Body, &answer) == nil {
		lines = answer.messages()
	}
	if len(lines) == 0 {
		lines = []string{strings.TrimSpace("the server answered " + strconv.Itoa(a.Status) + " " + http.StatusText(a.Status))}
	}
	f := &Fault{Code: exitFailed}
	if a.Status >= 400 && a.Status < 500 {
		f.Code = exitMisused
	}
	for _, line := range lines {
		if status := strconv.Itoa(a.Status); f.Code == exitFailed && !strings.Contains(line, status) {
			line += " (answered with " + status + ")"
		}
		if id := a.Header.Get("X-Request-Id"); f.Code == exitFailed && id != "" {
			line += " (request " + id + ")" // the id leads to the entry in the server's log
		}
		f.Lines = append(f.Lines, c.message(line))
	}
	return nil, f
}
