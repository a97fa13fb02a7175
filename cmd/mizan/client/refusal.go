package client

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
)

// refusal decodes an error response. The server uses three forms of error responses: {errors:[{code,detail,field}]},
// {error,message} and {error}.
type refusal struct {
	Errors []struct {
		Detail string `json:"detail"`
		Field  string `json:"field"`
	} `json:"errors"`
	Error   string `json:"error"`
	Message string `json:"message"`
}

// messages returns the messages in the error response, one per line of output. If the body has none of the known forms,
// messages returns nothing.
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

// recordNames maps the first segment of a URL path to the name of one record below that path, as error messages use it.
var recordNames = map[string]string{
	"organizations": "organization", "partners": "partner", "terminal": "terminal", "api_keys": "API key", "limits": "limit", "users": "user",
	"blocklist": "block list entry", "settlements": "settlement", "links": "payment link", "products": "product",
	"transactions": "transaction", "deliveries": "delivery", "subscriptions": "subscription",
}

// missingRecord returns a text that names the missing record after the server responded with status 404. The record is the one
// in the URL path or, if the request lists the records of a partner, the partner. If the request names no record, the text is
// empty.
func missingRecord(path string, query url.Values) string {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	if len(segments) > 2 && segments[0] == "ledger" && segments[1] == "accounts" {
		account, err := url.PathUnescape(segments[2])
		if err != nil {
			account = segments[2]
		}
		return "account " + account
	}
	if len(segments) > 2 && segments[0] == "ledger" && segments[1] == "entries" {
		return "entry " + segments[2]
	}
	if len(segments) > 2 && segments[0] == "reconciliation" {
		return map[string]string{"differences": "difference", "reports": "report", "days": "terminal"}[segments[1]] + " " + segments[2]
	}
	if name := recordNames[segments[0]]; name != "" && len(segments) > 1 {
		return name + " " + segments[1]
	}
	if partner := query.Get("partner_id"); partner != "" {
		return "partner " + partner
	}
	return ""
}

// Check returns the response if its status is a success. Otherwise it returns a *Fault that describes the response.
func (c *Command) Check(reply *Reply) (*Reply, error) { return c.check(reply, "") }

// check implements Check. If the server responds that a record does not exist, the fault names the record with the text in
// thing.
func (c *Command) check(reply *Reply, thing string) (*Reply, error) {
	if reply.Status >= 200 && reply.Status < 300 {
		return reply, nil
	}
	var decoded refusal
	var lines []string
	if json.Unmarshal(reply.Body, &decoded) == nil {
		lines = decoded.messages()
	}
	if reply.Status == http.StatusNotFound && thing != "" && decoded.Error == "not_found" {
		lines = []string{thing + " does not exist"}
	}
	if len(lines) == 0 {
		lines = []string{strings.TrimSpace("the server answered " + strconv.Itoa(reply.Status) + " " + http.StatusText(reply.Status))}
	}
	fault := &Fault{Code: exitFailed, Status: reply.Status}
	if reply.Status >= 400 && reply.Status < 500 {
		fault.Code = ExitMisused
	}
	for _, line := range lines {
		if status := strconv.Itoa(reply.Status); fault.Code == exitFailed && !strings.Contains(line, status) {
			line += " (answered with " + status + ")"
		}
		if id := reply.Header.Get("X-Request-Id"); fault.Code == exitFailed && id != "" {
			line += " (request " + id + ")" // the id helps to find the request in the server's log
		}
		fault.Lines = append(fault.Lines, c.message(line))
	}
	return nil, fault
}
