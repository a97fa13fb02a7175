package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"mizan/ledger"
	"mizan/posting"
)

// wantResponses is written by hand from the specification, "Errors".
var wantResponses = map[ledger.Code]struct {
	status int
	body   string
	retry  string
}{
	"invalid":                {422, `{"errors":[{"code":"invalid","detail":"why","field":"f"}]}`, ""},
	"wrong_params":           {422, `{"error":"wrong params - can't init tx"}`, ""},
	"invalid_refund_amount":  {422, `{"error":"invalid_refund_amount","message":"f: why"}`, ""},
	"not_reversible":         {422, `{"error":"not_reversible","message":"f: why"}`, ""},
	"invalid_capture_amount": {422, `{"error":"invalid_capture_amount","message":"f: why"}`, ""},
	"flow_not_continuable":   {422, `{"errors":[{"code":"flow_not_continuable","detail":"why","field":"f"}]}`, ""},
	"expired":                {422, `{"error":"expired","message":"f: why"}`, ""},
	"destination_missing":    {400, `{"error":"id and target_bank_id are required"}`, ""},
	"not_found":              {404, `{"error":"not_found","message":"f: why"}`, ""},
	"conflict":               {409, `{"error":"conflict","message":"f: why"}`, ""},
	"forbidden":              {403, `{"error":"forbidden","message":"f: why"}`, ""},
	"unauthorized":           {401, `{"error":"unauthorized"}`, ""},
	"module_not_active":      {403, `{"error":"module_not_active","message":"f: why"}`, ""},
	"unavailable":            {503, `{"error":"unavailable","message":"f: why"}`, "1"},
	"internal":               {500, `{"error":"internal","message":"something went wrong on our side"}`, ""},
	"illegal_transition":     {409, `{"error":"conflict","message":"f: why"}`, ""},
	"claim_taken":            {409, `{"error":"conflict","message":"f: why"}`, ""},
	"stale_version":          {409, `{"error":"conflict","message":"f: why"}`, ""},
	"insufficient_funds":     {422, `{"error":"insufficient_funds","message":"f: why"}`, ""},
	"limit_exceeded":         {422, `{"error":"limit_exceeded","message":"f: why"}`, ""},
	"out_of_range":           {422, `{"error":"out_of_range","message":"f: why"}`, ""},
	"bad_request":            {400, `{"error":"bad_request","message":"f: why"}`, ""},
	"method_not_allowed":     {405, `{"error":"method_not_allowed","message":"f: why"}`, ""},
	"payload_too_large":      {413, `{"error":"payload_too_large","message":"f: why"}`, ""},
	"unsupported_media_type": {415, `{"error":"unsupported_media_type","message":"f: why"}`, ""},
	"rate_limited":           {429, `{"error":"rate_limited","message":"f: why"}`, "1"},
	"request_timeout":        {408, `{"error":"request_timeout","message":"f: why"}`, ""},
	"headers_too_large":      {431, `{"error":"headers_too_large","message":"f: why"}`, ""},

	"http_version_not_supported": {505, `{"error":"http_version_not_supported","message":"f: why"}`, ""},
}

func responseTo(err error) (status int, body, retry string) {
	ctx := new(fasthttp.RequestCtx)
	WriteError(ctx, err)
	return ctx.Response.StatusCode(), string(ctx.Response.Body()), string(ctx.Response.Header.Peek("Retry-After"))
}

func TestEveryCodeHasItsResponse(t *testing.T) {
	for code, want := range wantResponses {
		status, body, retry := responseTo(&ledger.Refusal{Op: "op", Code: code, Field: "f", Detail: "why"})
		if status != want.status || body != want.body || retry != want.retry {
			t.Errorf("%s: %d %s retry %q, want %v", code, status, body, retry, want)
		}
	}
	for code := range errorResponses {
		if _, tested := wantResponses[code]; !tested {
			t.Errorf("%s has no row in this test", code)
		}
	}
}

// Every constant of type Code in the source of package ledger and of this package is in errorResponses.
func TestEveryCodeIsInTheTable(t *testing.T) {
	found := 0
	for _, path := range []string{"../../ledger/refusal.go", "errors.go"} {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, isValue := n.(*ast.ValueSpec)
			if !isValue || !strings.Contains(fmt.Sprint(spec.Type), "Code") {
				return true
			}
			for _, v := range spec.Values {
				if literal, ok := v.(*ast.BasicLit); ok {
					found++
					if _, known := errorResponses[ledger.Code(strings.Trim(literal.Value, `"`))]; !known {
						t.Errorf("%s: %s is not in the table", path, literal.Value)
					}
				}
			}
			return true
		})
	}
	if found != len(wantResponses) {
		t.Errorf("%d codes are declared, %d are tested", found, len(wantResponses))
	}
}

func TestUnexpectedErrorsRevealNothing(t *testing.T) {
	const internal = `{"error":"internal","message":"something went wrong on our side"}`
	for _, c := range []struct {
		err    error
		status int
		body   string
	}{
		{errors.New("disk at /secret"), 500, internal},
		{ledger.Refuse("op", "made_up", "4242424242424242"), 500, internal},
		{fmt.Errorf("wrapped: %w", ledger.Refuse("op", ledger.NotFound, "gone")), 404, `{"error":"not_found","message":"gone"}`},
		{fmt.Errorf("wrapped: %w", posting.ErrStopped), 503, `{"error":"unavailable","message":"the service is stopping, or another node takes over: it is unknown whether this happened"}`},
	} {
		if status, body, _ := responseTo(c.err); status != c.status || body != c.body {
			t.Errorf("%v: %d %s", c.err, status, body)
		}
	}
}

func TestFieldErrorsAreCollected(t *testing.T) {
	var p Problems
	if p.Err() != nil {
		t.Fatal("no problems are no error")
	}
	p.Add("a", "first \"quoted\"")
	p.Add("b", "second")
	p.Add("", "about all")
	status, body, _ := responseTo(p.Err())
	want := `{"errors":[{"code":"invalid","detail":"first \"quoted\"","field":"a"},{"code":"invalid","detail":"second","field":"b"},{"code":"invalid","detail":"about all"}]}`
	if status != 422 || body != want || !json.Valid([]byte(body)) {
		t.Errorf("%d %s", status, body)
	}
}
