package reconcile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"mizan/internal/testkit"
)

const killedLines = 6000

// killed is a server that is killed during imports.
type killed struct {
	*testkit.Server
	t        *testing.T
	client   *http.Client
	terminal string
}

func (k *killed) do(method, path, contentType string, body io.Reader) (status int, answer []byte, err error) {
	request, err := http.NewRequestWithContext(k.t.Context(), method, k.Sandbox.BaseURL+"/api/v1"+path, body)
	if err != nil {
		return 0, nil, err
	}
	request.Header.Set("Authorization", "Bearer "+k.Sandbox.AdminToken)
	request.Header.Set("X-Organization-Id", k.Sandbox.OrganizationID)
	request.Header.Set("Content-Type", contentType)
	response, err := k.client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// report is what the test reads of a report.
type report struct {
	ID      string `json:"id"`
	State   string `json:"state"`
	Lines   int    `json:"lines"`
	Matched int    `json:"matched"`
	Totals  []struct {
		Lines int    `json:"lines"`
		In    string `json:"in"`
	} `json:"totals"`
}

func (k *killed) upload(file string) (status int, r report, err error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for name, value := range map[string]string{
		"terminal_id": k.terminal, "format": "csv", "file": file,
		"mapping": `{"date":"d","amount":"a","currency":"c","reference":"r","id":"i","scale":"minor"}`,
	} {
		if err := form.WriteField(name, value); err != nil {
			return 0, r, err
		}
	}
	if err := form.Close(); err != nil {
		return 0, r, err
	}
	status, answer, err := k.do(http.MethodPost, "/reconciliation/reports", form.FormDataContentType(), &body)
	if err == nil && status == http.StatusCreated {
		err = json.Unmarshal(answer, &struct{ Data *report }{&r})
	}
	return status, r, err
}

// waitForImporting returns when the newest report is importing, or when the upload has ended.
func (k *killed) waitForImporting(file int, ended <-chan error) {
	for {
		select {
		case <-ended:
			return
		default:
		}
		var list struct{ Data []report }
		_, answer, err := k.do(http.MethodGet, "/reconciliation/reports?limit=200", "", nil)
		if err == nil && json.Unmarshal(answer, &list) == nil && len(list.Data) > file && list.Data[0].State == "importing" {
			return
		}
	}
}

// A server that is killed during an import finishes the report with the same upload, and counts each line once.
func TestImportIsFinishedAfterAKill(t *testing.T) {
	testkit.NotUnderRace(t, "the server is another process")
	k := &killed{Server: testkit.Start(t, testkit.Options{Flags: []string{"--tls", "off"}}), t: t, client: http.DefaultClient}
	status, answer, err := k.do(http.MethodPost, "/terminal", "application/json", strings.NewReader(`{"name":"k","partner_id":1,"provider":"simulator","type":"payment","env":"test"}`))
	var created struct{ Data struct{ ID string } }
	if err != nil || status != http.StatusCreated || json.Unmarshal(answer, &created) != nil {
		t.Fatalf("%d %s, %v", status, answer, err)
	}
	k.terminal = created.Data.ID
	interrupted := 0
	for file := range 3 {
		text := "i,d,a,c,r\n"
		for i := range killedLines {
			text += fmt.Sprintf("%d-%d,2026-09-03,100,USD,unknown%d\n", file, i, i)
		}
		ended := make(chan error, 1)
		go func() {
			_, _, err := k.upload(text)
			ended <- err
		}()
		k.waitForImporting(file, ended)
		k.Kill()
		<-ended
		k.Restart()
		var list struct{ Data []report }
		if _, answer, err := k.do(http.MethodGet, "/reconciliation/reports?limit=1", "", nil); err == nil && json.Unmarshal(answer, &list) == nil && len(list.Data) > 0 && list.Data[0].State == "importing" {
			interrupted++
		}
		status, r, err := k.upload(text)
		if err != nil || status != http.StatusCreated || r.State != "complete" || r.Lines != killedLines || len(r.Totals) != 1 || r.Totals[0].Lines != killedLines || r.Totals[0].In != fmt.Sprint(100*killedLines) {
			t.Errorf("file %d: %d, %+v, %v", file, status, r, err)
		}
	}
	if interrupted == 0 {
		t.Error("no import was interrupted by a kill")
	}
	if code := k.Stop(); code != 0 {
		t.Errorf("the server ended with %d", code)
	}
	if result := testkit.Run(t, nil, "audit", "verify", "--data", k.Dir); result.Exit != 0 {
		t.Errorf("%d: %s", result.Exit, result.Stdout)
	}
}
