package admin

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// refusal is all three of the server's error bodies: {errors:[{code,detail,field}]},
// {error,message} and {error}.
type refusal struct {
	Errors []struct {
		Detail string `json:"detail"`
		Field  string `json:"field"`
	} `json:"errors"`
	Error   string `json:"error"`
	Message string `json:"message"`
}

// words are what the refusal says, a line each; none if it is no refusal.
func (r *refusal) words() (lines []string) {
	for _, p := range r.Errors {
		detail := strings.TrimPrefix(p.Detail, p.Field+" ") // "login is required" names its field already
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

// checked is the answer if it is a success, else the fault that it is.
func (e *errand) checked(a *reply) (*reply, error) {
	if a.status >= 200 && a.status < 300 {
		return a, nil
	}
	var said refusal
	var lines []string
	if json.Unmarshal(a.body, &said) == nil {
		lines = said.words()
	}
	if len(lines) == 0 {
		lines = []string{strings.TrimSpace("the server answered " + strconv.Itoa(a.status) + " " + http.StatusText(a.status))}
	}
	f := &Fault{Code: exitFailed}
	if a.status >= 400 && a.status < 500 {
		f.Code = exitMisused
	}
	for _, line := range lines {
		if status := strconv.Itoa(a.status); f.Code == exitFailed && !strings.Contains(line, status) {
			line += " (answered with " + status + ")"
		}
		if id := a.header.Get("X-Request-Id"); f.Code == exitFailed && id != "" {
			line += " (request " + id + ")" // what to look for in the server's log
		}
		f.Lines = append(f.Lines, e.line(line))
	}
	return nil, f
}
