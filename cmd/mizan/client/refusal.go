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

// messages returns the messages of the refusal, one for each line; none if the body was not a refusal.
func (r *refusal) messages() (lines []string) {
	for _, fieldError := range r.Errors {
		detail := strings.TrimPrefix(fieldError.Detail, fieldError.Field+" ") // a detail may begin with the field's name, as "login is required" does
		if fieldError.Field != "" {
			detail = fieldError.Field + ": " + detail
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
func (c *Command) Check(reply *Reply) (*Reply, error) {
	if reply.Status >= 200 && reply.Status < 300 {
		return reply, nil
	}
	var decoded refusal
	var lines []string
	if json.Unmarshal(reply.Body, &decoded) == nil {
		lines = decoded.messages()
	}
	if len(lines) == 0 {
		lines = []string{strings.TrimSpace("the server answered " + strconv.Itoa(reply.Status) + " " + http.StatusText(reply.Status))}
	}
	fault := &Fault{Code: exitFailed}
	if reply.Status >= 400 && reply.Status < 500 {
		fault.Code = exitMisused
	}
	for _, line := range lines {
		if status := strconv.Itoa(reply.Status); fault.Code == exitFailed && !strings.Contains(line, status) {
			line += " (answered with " + status + ")"
		}
		if id := reply.Header.Get("X-Request-Id"); fault.Code == exitFailed && id != "" {
			line += " (request " + id + ")" // the id leads to the entry in the server's log
		}
		fault.Lines = append(fault.Lines, c.message(line))
	}
	return nil, fault
}
