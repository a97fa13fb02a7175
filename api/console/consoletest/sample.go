package consoletest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mizan/api/description/operations"
	"mizan/api/description/spec"
	"mizan/internal/testkit"
)

// Fill sends the examples in the API's description to a server, so that the server has at least one record of each kind that
// pages can show. The server must have a manual clock, because some examples move the clock by days.
func Fill(t testing.TB, s *testkit.Server) {
	t.Helper()
	fill := &filling{t: t, server: s, kept: make(map[string]string)}
	contents := operations.Contents()
	for i := range contents.Operations {
		o := &contents.Operations[i]
		if o.OnlyOnNode || slices.Contains([]string{"logOut", "rotateAdminToken"}, o.ID) {
			continue
		}
		for _, e := range o.Examples {
			for _, before := range e.Setup {
				fill.keep(before.Keep, fill.send(o.ID, before.As, before.Method, before.Path, before.Body))
			}
			path := o.Path
			for name, value := range e.Path {
				path = strings.ReplaceAll(path, "{"+name+"}", value)
			}
			if e.Query != "" {
				path += "?" + e.Query
			}
			fill.keep(e.Keep, fill.send(o.ID, e.As, o.Method, path, e.Body))
		}
	}
	for _, more := range fill.more() {
		fill.keep(more.Keep, fill.send("more", more.As, more.Method, "/api/v1"+more.Path, more.Body))
	}
	fill.importReport()
}

// importReport imports a settlement report with a line about which the ledger knows nothing.
func (f *filling) importReport() {
	f.t.Helper()
	var terminals struct{ Data []struct{ ID string } }
	if err := json.Unmarshal(f.send("listTerminals", "admin", "GET", "/api/v1/terminals?limit=1", "").Body, &terminals); err != nil || len(terminals.Data) != 1 {
		f.t.Fatalf("the terminals: %v", err)
	}
	var body strings.Builder
	form := multipart.NewWriter(&body)
	for name, value := range map[string]string{
		"terminal_id": terminals.Data[0].ID, "format": "csv",
		"mapping": `{"date":"day","amount":"gross","currency":"ccy","reference":"ref","scale":"minor"}`,
		"file":    "day,gross,ccy,ref\n2026-01-02,1250,USD,unknown\n",
	} {
		create := form.CreateFormField
		if name == "file" {
			create = func(name string) (io.Writer, error) { return form.CreateFormFile(name, "report.csv") }
		}
		part, err := create(name)
		if err == nil {
			_, err = part.Write([]byte(value))
		}
		if err != nil {
			f.t.Fatal(err)
		}
	}
	if err := form.Close(); err != nil {
		f.t.Fatal(err)
	}
	answer, err := f.server.Admin().With("x-organization-id", f.server.Sandbox.OrganizationID, "content-type", form.FormDataContentType()).
		Do("POST", "/api/v1/reconciliation/reports", body.String())
	if err != nil || answer.Status != 201 {
		f.t.Fatalf("importing a report: %v, %d %s", err, answer.Status, answer.Body)
	}
}

// more returns requests that follow the examples. They create new records in place of those that the examples have deleted, and
// move the clock so far that a month can be closed.
func (f *filling) more() []spec.Request {
	partner := strconv.FormatInt(f.server.Sandbox.PartnerID, 10)
	const payment = `{"params":{"type":"payment","env":"test","amount":"1250","currency":"USD","returnUrl":"https://shop.example/ok","failUrl":"https://shop.example/no",` +
		`"money_storage":{"type":"bank_card","cardnumber":"4242424242424242","cardholder":"JOHN DOE","exp_month":"12","exp_year":"2030","cvv":"123"}}}`
	hold := strings.Replace(payment, "USD", "CAD", 1)
	return []spec.Request{
		{As: "admin", Method: "POST", Path: "/terminal", Body: `{"name":"Holds","provider":"simulator","type":"payment","env":"test","partner_id":` + partner +
			`,"provider_params":{"currencies":["CAD"],"two_phase":true,"priority":-1}}`},
		{As: "admin", Method: "POST", Path: "/limits", Body: `{"partner_id":` + partner + `,"kind":"velocity","max_count":100000,"window":"minute","env":"test"}`},
		{As: "admin", Method: "POST", Path: "/blocklist", Body: `{"kind":"email","value":"nobody@example.com"}`},
		{As: "admin", Method: "POST", Path: "/partners/" + partner + "/settlements",
			Body: `{"direction":"in","amount":"1","currency":"USD","env":"test","reference":"more"}`},
		{As: "partner", Method: "POST", Path: "/links", Body: `{"name":"Tea","env":"test","amount":{"default":5,"currency":"USD"},"amount_type":"dynamic","pay_config":{}}`},
		{As: "partner", Method: "POST", Path: "/products", Body: `{"env":"test","header":"Tea","text":"Green"}`},
		{As: "admin", Method: "PATCH", Path: "/partners/" + partner, Body: `{"notify_url":"http://127.0.0.1:9/hook"}`}, // so that deliveries fail: no server is there
		{As: "partner", Method: "POST", Path: "/transactions", Body: payment},
		{As: "admin", Method: "PUT", Path: "/sandbox/clock", Body: `{"advance_seconds":2700000}`},
		{As: "partner", Method: "POST", Path: "/transactions", Body: payment},
		{As: "partner", Method: "POST", Path: "/transactions", Body: hold},
	}
}

// filling sends the examples to a server. kept contains values of earlier responses, to which later examples refer.
type filling struct {
	t      testing.TB
	server *testkit.Server
	kept   map[string]string
}

// send sends a request in the name of the caller that the example names. If the example names none, send tries one caller after
// another until one is admitted.
func (f *filling) send(operation, as, method, path, body string) *testkit.Answer {
	f.t.Helper()
	var last *testkit.Answer
	for _, c := range f.callers(as) {
		var content any
		if body != "" {
			content = f.filled(body)
		}
		answer, err := c.Do(method, f.filled(path), content)
		if err != nil {
			f.t.Fatalf("%s: %v", operation, err)
		}
		if last = answer; answer.Status != 401 && answer.Status != 403 {
			break
		}
	}
	if last.Status >= 400 {
		f.t.Fatalf("the example of %s: %s %s %s: %d %s", operation, method, f.filled(path), f.filled(body), last.Status, last.Body)
	}
	return last
}

func (f *filling) callers(as string) []*testkit.Client {
	s := f.server
	switch as {
	case "":
		return []*testkit.Client{s.Partner(), s.Admin(), s.Auditor(), s.Session(), s.Anyone()}
	case "partner":
		return []*testkit.Client{s.Partner()}
	case "admin":
		return []*testkit.Client{s.Admin()}
	case "auditor":
		return []*testkit.Client{s.Auditor()}
	case "session":
		return []*testkit.Client{s.Session()}
	case "organization":
		return []*testkit.Client{s.Anyone().With("x-organization-id", s.Sandbox.OrganizationID)}
	}
	return []*testkit.Client{s.Anyone().With("authorization", "Bearer "+f.filled(as), "x-organization-id", s.Sandbox.OrganizationID)}
}

// keep stores values of a response. For each name, values tells the path of the value in the response.
func (f *filling) keep(values map[string]string, answer *testkit.Answer) {
	f.t.Helper()
	for name, path := range values {
		var value any
		decoder := json.NewDecoder(strings.NewReader(string(answer.Body)))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			f.t.Fatal(err)
		}
		for part := range strings.SplitSeq(path, ".") {
			switch v := value.(type) {
			case map[string]any:
				value = v[part]
			case []any:
				if i, err := strconv.Atoi(part); err == nil && i < len(v) {
					value = v[i]
				}
			}
		}
		f.kept[name] = fmt.Sprint(value)
	}
}

// filled replaces $name by the kept value with that name, and $today by the day on the server's clock.
func (f *filling) filled(text string) string {
	f.t.Helper()
	if strings.Contains(text, "$today") {
		today := f.today()
		text = strings.NewReplacer("$today+30", today.AddDate(0, 0, 30).Format(time.DateOnly), "$today", today.Format(time.DateOnly)).Replace(text)
	}
	for _, name := range slices.SortedFunc(maps.Keys(f.kept), func(a, b string) int { return len(b) - len(a) }) { // longest first, as a name may be another's prefix
		text = strings.ReplaceAll(text, "$"+name, f.kept[name])
	}
	return text
}

func (f *filling) today() time.Time {
	f.t.Helper()
	answer, err := f.server.Admin().Get("/api/v1/sandbox/clock")
	testkit.WantStatus(f.t, answer, err, 200)
	var clock struct{ Now time.Time }
	if err := answer.JSON(&clock); err != nil {
		f.t.Fatal(err)
	}
	return clock.Now.UTC()
}
