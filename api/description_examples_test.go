package api_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"mizan/api/description"
	"mizan/api/description/spec"
)

// The test sends the examples in the API's description to a server, one after the other. Each response must have the status and
// the form of the response that is recorded in examples.json: the same members, with values of the same types.
func TestExamplesAreAsRecorded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.directory.AllowPrivateAddresses(true)
	seeded := f.lastSeq()
	run := &exampleRun{fixture: f, values: map[string]string{}}
	var recorded description.Object
	document := f.server.Document()
	for i := range document.DescribedOperations {
		o := &document.DescribedOperations[i]
		for j := range o.Examples {
			e := &o.Examples[j]
			name := description.ExampleName(o.Operation, e)
			sent := run.send(o, e)
			if t.Failed() {
				t.Fatalf("%s failed", name)
			}
			old := description.Recorded(o.Operation, e)
			if !*updateDocs {
				run.compare(name, old, sent)
			} else if old != nil && isSame(old, sent) {
				sent = treeOf(old) // keeps the recorded times and references, which differ in each run
			}
			recorded.Add(name, sent)
		}
	}
	f.wantAuthorsOfAllWork(seeded)
	if *updateDocs {
		writeExamples(t, recorded)
	}
}

// writeExamples writes examples.json, with a line for each example.
func writeExamples(t *testing.T, recorded description.Object) {
	content := []byte("{\n")
	for i, example := range recorded {
		if i > 0 {
			content = append(content, ",\n"...)
		}
		line := description.AppendJSON(nil, description.Object{example})
		content = append(content, line[1:len(line)-1]...)
	}
	must(t, os.WriteFile(filepath.Join("description", "examples.json"), append(content, "\n}\n"...), 0o644))
}

// exampleRun sends the examples to a server. values has the values from earlier responses that later examples use, by name.
type exampleRun struct {
	*fixture
	values map[string]string
}

// send sends the requests that prepare an example, and then the example. It returns the request and its response in the form of
// examples.json.
func (run *exampleRun) send(o *description.DescribedOperation, e *spec.Example) description.Object {
	run.t.Helper()
	for i := range e.Setup {
		b := &e.Setup[i]
		r := run.caller(b.As).do(b.Method, run.filled(b.Path), run.filled(b.Body))
		if r.status >= 400 {
			run.t.Fatalf("%s %s %s, which prepares %s: %d %s", b.Method, run.filled(b.Path), run.filled(b.Body), o.ID, r.status, r.body)
		}
		run.keep(b.Keep, r)
	}
	path := o.Path
	for name, value := range e.Path {
		path = strings.ReplaceAll(path, "{"+name+"}", value)
	}
	if e.Query != "" {
		path += "?" + e.Query
	}
	as := e.As
	if as == "" {
		as = usualCaller(o)
	}
	path, body := run.filled(path), run.filled(e.Body)
	r := run.caller(as).do(o.Method, path, body)
	if r.status >= 400 {
		run.t.Errorf("%s: %s %s %s: %d %s", o.ID, o.Method, path, body, r.status, r.body)
	}
	run.keep(e.Keep, r)
	sent := description.Object{{Name: "as", Value: strings.TrimPrefix(as, "$")}, {Name: "method", Value: o.Method}, {Name: "path", Value: run.normal(path)}}
	if body != "" {
		sent.Add("request", run.parsed(body))
	}
	sent.Add("status", r.status)
	if strings.HasPrefix(r.header.Get("content-type"), "application/json") {
		sent.Add("response", run.parsed(r.body))
	}
	return sent
}

// usualCaller returns the caller of an example that names no caller.
func usualCaller(o *description.DescribedOperation) string {
	for _, c := range o.Callers {
		switch {
		case c.Kind == description.PartnerKey:
			return "partner"
		case c.Kind == description.AdminToken:
			return "admin"
		case slices.Contains(c.Roles, "auditor"):
			return "auditor"
		default:
			return "session"
		}
	}
	return ""
}

func (run *exampleRun) caller(as string) caller {
	switch as {
	case "":
		return run.anyone()
	case "partner":
		return run.partner()
	case "admin":
		return run.admin()
	case "auditor":
		return run.auditor()
	case "session":
		return run.session()
	case "organization":
		return run.anyone().with("x-organization-id", run.seed.First.Org.String())
	}
	return run.bearer(run.filled(as), run.seed.First.Org)
}

func (run *exampleRun) keep(values map[string]string, r *response) {
	for name, path := range values {
		run.values[name] = r.at(path)
	}
}

// filled replaces each $name in a text by the value that exampleRun has kept under the name, and $today by the clock's day.
func (run *exampleRun) filled(text string) string {
	today := run.Clock.Now().UTC()
	text = strings.NewReplacer("$today+30", today.Add(30*24*time.Hour).Format(time.DateOnly), "$today", today.Format(time.DateOnly)).Replace(text)
	names := slices.SortedFunc(maps.Keys(run.values), func(a, b string) int { return len(b) - len(a) }) // longest first: a name may begin with another name
	for _, name := range names {
		text = strings.ReplaceAll(text, "$"+name, run.values[name])
	}
	return text
}

// Patterns of values that differ between runs. In examples.json the function normal replaces them by fixed values.
var (
	anyUUID  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anyToken = regexp.MustCompile(`(mz[kas]_)[A-Za-z0-9_-]+`)
	anyPage  = regexp.MustCompile(`(\?token=)[A-Za-z0-9._-]+`)
)

// normal replaces the ids, keys and addresses in a text by fixed ones.
func (run *exampleRun) normal(text string) string {
	text = strings.ReplaceAll(text, run.base(), "https://127.0.0.1:8443")
	text = anyToken.ReplaceAllString(text, "${1}example")
	text = anyPage.ReplaceAllString(text, "${1}example")
	return anyUUID.ReplaceAllStringFunc(text, func(id string) string {
		key := "id " + id
		if run.values[key] == "" {
			run.values[key] = fmt.Sprintf("%08x-0000-4000-8000-%012x", len(run.values), len(run.values)*7919)
		}
		return run.values[key]
	})
}

func (run *exampleRun) parsed(text string) any {
	run.t.Helper()
	value, err := description.ParseJSON([]byte(run.normal(text)))
	must(run.t, err)
	return value
}

// compare fails the test if a sent example or its response differs from examples.json.
func (run *exampleRun) compare(name string, recorded *description.RecordedExample, sent description.Object) {
	run.t.Helper()
	switch {
	case recorded == nil:
		run.t.Errorf("%s is not recorded: go test ./api -run TestExamplesAreAsRecorded -update", name)
	case difference(recorded, sent) != "":
		run.t.Errorf("%s: %s: go test ./api -run TestExamplesAreAsRecorded -update", name, difference(recorded, sent))
	}
}

// difference describes how the form of a sent example and its response differs from the recorded one. It returns "" if they do
// not differ.
func difference(recorded *description.RecordedExample, sent description.Object) string {
	if status := sent.Get("status"); status != recorded.Status {
		return fmt.Sprintf("the status is %v, recorded %d", status, recorded.Status)
	}
	return cmp.Or(differenceOf("request", recorded.Request, sent.Get("request")), differenceOf("response", recorded.Response, sent.Get("response")))
}

// isSame tells whether the recorded example has the same request as the sent one, and a response of the same form.
func isSame(recorded *description.RecordedExample, sent description.Object) bool {
	request := func(t description.Object) string {
		return string(description.AppendJSON(nil, []any{t.Get("as"), t.Get("method"), t.Get("path"), t.Get("request")}))
	}
	hasEmptyList := func(t description.Object) bool {
		return bytes.Contains(description.AppendJSON(nil, t.Get("response")), []byte(`"data":[]`))
	}
	old := treeOf(recorded)
	return request(old) == request(sent) && difference(recorded, sent) == "" && hasEmptyList(old) == hasEmptyList(sent)
}

func treeOf(recorded *description.RecordedExample) description.Object {
	t := description.Object{{Name: "as", Value: recorded.As}, {Name: "method", Value: recorded.Method}, {Name: "path", Value: recorded.Path}}
	if recorded.Request != nil {
		t.Add("request", recorded.Request)
	}
	t.Add("status", recorded.Status)
	if recorded.Response != nil {
		t.Add("response", recorded.Response)
	}
	return t
}

// differenceOf describes the first place at which two JSON values have different forms. It returns "" if there is none. path is
// where in the document the values are.
func differenceOf(path string, recorded, got any) string {
	switch r := recorded.(type) {
	case description.Object:
		g, isTree := got.(description.Object)
		if !isTree {
			return path + " is no object any more"
		}
		for _, member := range r {
			if !slices.ContainsFunc(g, func(other description.Member) bool { return other.Name == member.Name }) {
				return path + " has no " + member.Name + " any more"
			}
		}
		for _, member := range g {
			if !slices.ContainsFunc(r, func(other description.Member) bool { return other.Name == member.Name }) {
				return path + " has a new member " + member.Name
			}
			if difference := differenceOf(path+"."+member.Name, r.Get(member.Name), member.Value); difference != "" {
				return difference
			}
		}
	case []any:
		g, isList := got.([]any)
		if !isList {
			return path + " is no list any more"
		}
		for i := range min(len(r), len(g)) {
			if difference := differenceOf(path+"."+strconv.Itoa(i), r[i], g[i]); difference != "" {
				return difference
			}
		}
	default:
		if fmt.Sprintf("%T", recorded) != fmt.Sprintf("%T", got) {
			return fmt.Sprintf("%s is a %T, recorded %T", path, got, recorded)
		}
	}
	return ""
}
