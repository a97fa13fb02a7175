package api_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// postmanItem is a request or a folder of the collection.
type postmanItem struct {
	Name    string
	Item    []postmanItem
	Request struct {
		Method string
		Header []postmanPair
		URL    struct {
			Raw      string
			Variable []postmanPair
		}
		Body struct{ Mode, Raw string }
	}
	Event []struct {
		Script struct{ Exec []string }
	}
	Response []struct{ Code int }
}

type postmanPair struct{ Key, Value string }

var (
	postmanVariable = regexp.MustCompile(`\{\{(\w+)\}\}`)
	postmanSegment  = regexp.MustCompile(`/:(\w+)`)
	postmanKeep     = regexp.MustCompile(`^pm\.collectionVariables\.set\("(\w+)", pm\.response\.json\(\)((?:\.\w+|\[\d+\])+)\);$`)
)

// postmanRun sends the requests of the collection as Postman does.
type postmanRun struct {
	*fixture
	started time.Time
	values  map[string]string
}

// Every request of the Postman collection is sent, in the order of the collection. Requests with a recorded response, and
// requests that prepare another request, must be carried out. The other requests may fail, because they need a value that only a
// user has, such as the URL of a page.
func TestPostmanCollectionCanBeSent(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join("sdk", "postman", "mizan.postman_collection.json"))
	must(t, err)
	var collection struct {
		Item     []postmanItem
		Variable []postmanPair
	}
	must(t, json.Unmarshal(content, &collection))
	f := newFixture(t)
	f.directory.AllowPrivateAddresses(true)
	run := &postmanRun{fixture: f, started: f.Clock.Now(), values: map[string]string{}}
	for _, v := range collection.Variable {
		run.values[v.Key] = v.Value
	}
	maps.Copy(run.values, map[string]string{
		"base_url": "", "organization_id": f.seed.First.Org.String(), "api_key": string(f.seed.First.APIKey), "admin_token": string(f.seed.AdminToken),
		"session_token": string(f.seed.First.SessionToken), "auditor_token": string(f.seed.First.AuditorToken),
	})
	sent := 0
	for _, folder := range collection.Item {
		for i := range folder.Item {
			run.send(folder.Name, &folder.Item[i])
			sent++
		}
	}
	if r := f.admin().do("GET", "/api/v1/partners", ""); r.status != 200 {
		t.Errorf("after a run of the collection the admin token of data/sandbox.json is not valid: %d", r.status)
	}
	if sent < 500 {
		t.Errorf("only %d requests", sent)
	}
}

func (run *postmanRun) send(folder string, item *postmanItem) {
	run.t.Helper()
	r := &item.Request
	today := run.started.UTC() // scripts in Postman know only the time of their computer,
	if moved, err := time.Parse(time.RFC3339Nano, run.values["clock"]); err == nil {
		today = moved.UTC() // and the server's time from the response to a request that moves its clock
	}
	run.values["today"], run.values["today_30"] = today.Format(time.DateOnly), today.Add(30*24*time.Hour).Format(time.DateOnly)
	values := make(map[string]string)
	for _, v := range r.URL.Variable {
		values[v.Key] = run.filled(v.Value)
	}
	path := postmanSegment.ReplaceAllStringFunc(run.filled(r.URL.Raw), func(segment string) string { return "/" + values[segment[2:]] })
	if strings.HasSuffix(path, "/notifications/stream") {
		run.t.Fatalf("%s, %s: a run of the collection would not end", folder, item.Name)
	}
	c := run.anyone()
	for _, h := range r.Header {
		c = c.with(strings.ToLower(h.Key), run.filled(h.Value))
	}
	response := c.do(r.Method, path, run.filled(r.Body.Raw))
	mustBeCarriedOut := len(item.Response) > 0 || strings.HasPrefix(item.Name, "Prepare")
	if mustBeCarriedOut && response.status >= 400 || response.status == 401 || response.status == 405 || response.status >= 500 {
		run.t.Errorf("%s, %s: %s %s %s: %d %s", folder, item.Name, r.Method, path, run.filled(r.Body.Raw), response.status, response.body[:min(len(response.body), 300)])
	}
	if isFilled := !slices.Contains(slices.Collect(maps.Values(values)), ""); response.status == 404 && isFilled { // a request with an empty value in its path may get 404
		run.t.Errorf("%s, %s: %s %s: there is no such thing", folder, item.Name, r.Method, path)
	}
	if len(item.Response) > 0 && item.Response[0].Code != response.status {
		run.t.Errorf("%s, %s: %d, recorded %d", folder, item.Name, response.status, item.Response[0].Code)
	}
	for _, event := range item.Event {
		for _, line := range event.Script.Exec {
			keep := postmanKeep.FindStringSubmatch(line)
			if keep == nil {
				run.t.Fatalf("%s: the script has a line %q", item.Name, line)
			}
			run.values[keep[1]] = response.at(strings.Trim(strings.NewReplacer("[", ".", "]", "").Replace(keep[2]), "."))
		}
	}
}

// filled replaces Postman's variables in a text by their values.
func (run *postmanRun) filled(text string) string {
	return postmanVariable.ReplaceAllStringFunc(text, func(name string) string {
		value, isKnown := run.values[strings.Trim(name, "{}")]
		if !isKnown {
			run.t.Errorf("there is no variable %s", name)
		}
		return value
	})
}
