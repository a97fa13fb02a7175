package serving_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"mizan/internal/testkit"
)

const reasonOtherModule = "the programs are processes of another module, whose own tests run under the detector"

var goBlocks = regexp.MustCompile("(?s)\n```go\n(.*?)```\n")

// TestGoClientReadmeRuns runs the code blocks in the Go client's README unchanged, as one program: each block continues the
// first one.
func TestGoClientReadmeRuns(t *testing.T) {
	t.Parallel()
	testkit.NotUnderRace(t, reasonOtherModule)
	client, err := filepath.Abs(filepath.Join("..", "..", "..", "api", "sdk", "go"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(client, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := goBlocks.FindAllSubmatch(page, -1)
	if len(blocks) < 7 {
		t.Fatalf("%d blocks", len(blocks))
	}
	program := strings.TrimSuffix(strings.TrimSpace(string(blocks[0][1])), "}")
	for _, block := range blocks[1:] {
		program += string(block[1])
	}
	program = strings.Replace(program, `"context"`, "\"context\"\n\"errors\"\n\"net/http\"\n\"net/http/httptest\"\n\"os\"\n\"strings\"", 1) + readmeEnd
	folder := t.TempDir()
	write := func(name, content string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("main.go", program)
	write("go.mod", fmt.Sprintf("module shop\n\ngo 1.24\n\nrequire mizan/api/sdk/go v0.0.0\n\nreplace mizan/api/sdk/go => %s\n", client))
	server := testkit.Start(t, testkit.Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "go", "run", ".")
	command.Dir = folder
	command.Env = append(os.Environ(), merchantVariables(server)...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, out, program)
	}
	for _, want := range []string{
		" charged 10.00 USD\n", "pay at " + server.BaseURL + "/pay/", "2100 cents are 21.00 EUR\n", "1500000\n", "returned 4.00\n",
		"order-1 ", "order-2 created\n", "there is no such transaction\n", "is a replay: false\nis a replay: true\n", "an unsigned event: 401\n",
	} {
		if !bytes.Contains(out, []byte(want)) {
			t.Errorf("the output has no %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// readmeEnd is the end of this program. It sends an unsigned event to the merchant's receiver.
const readmeEnd = `
	recorder := httptest.NewRecorder()
	http.DefaultServeMux.ServeHTTP(recorder, httptest.NewRequest("POST", "/notifications", strings.NewReader("{\"event_id\":\"1\"}")))
	fmt.Println("an unsigned event:", recorder.Code)
}

func store(string, *mizan.Notification) error { return nil }
`

// merchantVariables are the environment variables from which a merchant's program reads the server's address and the
// credentials.
func merchantVariables(server *testkit.Server) []string {
	return []string{
		"MIZAN_URL=" + server.BaseURL, "MIZAN_API_KEY=" + server.Sandbox.APIKey, "MIZAN_ORGANIZATION_ID=" + server.Sandbox.OrganizationID,
		"MIZAN_CA_FILE=" + server.Sandbox.CAFile, "WEBHOOK_SECRET=whsec-shop",
	}
}
