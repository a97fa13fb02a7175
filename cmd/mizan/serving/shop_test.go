package serving_test

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"mizan/internal/testkit"
)

// shopUnderTest is a process of the shop in docs/examples, with a browser (a client with its own cookies) that visits it.
type shopUnderTest struct {
	t       *testing.T
	address string
	log     chan string // lines of the shop's log; closed when the shop ends
	browser *http.Client
}

var shopCommands = regexp.MustCompile("(?s)<!-- run: shop -->\n```sh\n(.*?)```\n")

// startShop starts the shop with the commands of its README. The folder looks like a clone of the repository with the server's
// data in it. Only the port differs from the README, because several tests may run at once.
func startShop(t *testing.T, server *testkit.Server) *shopUnderTest {
	t.Helper()
	root, err := filepath.Abs(filepath.Join("..", "..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "examples", "shop", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := shopCommands.FindSubmatch(page)
	if block == nil {
		t.Fatal("the README has no commands")
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	folder := t.TempDir()
	for name, target := range map[string]string{
		"api": filepath.Join(root, "api"), "docs": filepath.Join(root, "docs"), "data": server.Dir, "bin/mizan": testkit.Binary(t),
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(target, path)); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command("bash", "-ec", strings.ReplaceAll(string(block[1]), "127.0.0.1:8090", address))
	command.Dir = folder
	command.Env = append(os.Environ(), "LISTEN="+address, "OFFICE_PASSWORD=open sesame")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = writer, writer
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = writer.Close()
	s := &shopUnderTest{t: t, log: make(chan string, 1024)}
	go func() {
		defer close(s.log)
		lines := bufio.NewScanner(reader)
		for lines.Scan() {
			s.log <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL) // kills the shell, go run and the shop
		_ = command.Wait()
		_ = reader.Close()
	})
	_, s.address, _ = strings.Cut(s.await("shop: "), "shop: ")
	authority, err := os.ReadFile(server.Sandbox.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.browser = &http.Client{Jar: jar, Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}}
	t.Cleanup(s.browser.CloseIdleConnections)
	return s
}

// await returns the next line of the shop's log that has a text.
func (s *shopUnderTest) await(text string) string {
	s.t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case line, isOpen := <-s.log:
			if !isOpen {
				s.t.Fatalf("the shop has ended before it wrote %q", text)
			}
			s.t.Log("shop: " + line)
			if strings.Contains(line, text) {
				return line
			}
		case <-deadline:
			s.t.Fatalf("the shop has not written %q", text)
		}
	}
}

// browse sends a request, follows redirects as a browser does, and returns the last page with its address.
func (s *shopUnderTest) browse(method, address string, form url.Values, status int, header ...string) (page string, at *url.URL) {
	s.t.Helper()
	request, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	if form != nil {
		request.Header.Set("content-type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	if strings.Contains(address, "/office") && len(header) == 0 {
		request.SetBasicAuth("office", "open sesame")
	}
	response, err := s.browser.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != status {
		s.t.Fatalf("%s %s: %d, want %d, %v\n%s", method, address, response.StatusCode, status, err, content)
	}
	return string(content), response.Request.URL
}

func (s *shopUnderTest) wantPage(page string, texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		if !strings.Contains(page, text) {
			s.t.Errorf("the page has no %q:\n%s", text, page)
		}
	}
}

var (
	formAction   = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)
	returnLink   = regexp.MustCompile(`href="(http://[^"]*/orders/[^"]*)"`)
	refundButton = regexp.MustCompile(`<button name="number" value="([^"]*)">Refund`)
)

// A buyer goes through the shop from the cart to the refund, as the shop's README describes it. Only the service can make an
// order paid.
func TestShopIsPaidAndRefunds(t *testing.T) {
	t.Parallel()
	testkit.NotUnderRace(t, reasonOtherModule)
	server := testkit.Start(t, testkit.Options{})
	s := startShop(t, server)
	cart, _ := s.browse("GET", s.address+"/?pot=1&cup=2&tea=-5", nil, 200)
	s.wantPage(cart, "Teapot &lt;blue&gt;", "34.40", `action="/checkout"`)
	page, at := s.browse("POST", s.address+"/checkout", url.Values{"pot": {"1"}, "cup": {"2"}}, 200)
	s.wantPage(page, "€34.40")
	action := formAction.FindStringSubmatch(page)
	if action == nil {
		t.Fatalf("no form at %v:\n%s", at, page)
	}
	target, err := at.Parse(html.UnescapeString(action[1]))
	if err != nil {
		t.Fatal(err)
	}

	// A buyer can't make the order paid by opening the return address or by sending the shop a forged notification.
	office, _ := s.browse("GET", s.address+"/office", nil, 200)
	number := regexp.MustCompile(`/orders/([A-Z0-9]+)"`).FindStringSubmatch(office)[1]
	order, _ := s.browse("GET", s.address+"/orders/"+number+"?status=charged", nil, 200)
	s.wantPage(order, "We are waiting for your payment")
	forged := `{"event_id":"1","type":"transaction.charged","data":{"txid":"` + number + `","status":"charged"}}`
	for body, status := range map[string]int{forged: 401, `{}`: 400} {
		response, err := http.Post(s.address+"/notifications", "application/json", strings.NewReader(body))
		if err != nil || response.StatusCode != status {
			t.Errorf("%s: %v %v", body, response, err)
		}
		_ = response.Body.Close()
	}

	paid, _ := s.browse("POST", target.String(), url.Values{"cardnumber": {"4242424242424242"}, "cardholder": {"JANE DOE"}, "expiry": {"12/30"}, "cvv": {"123"}}, 200)
	back := returnLink.FindStringSubmatch(paid)
	if back == nil {
		t.Fatalf("no way back:\n%s", paid)
	}
	s.await("paid 34.40 EUR, the goods are sent")
	s.await("transaction.charged")
	order, _ = s.browse("GET", back[1], nil, 200)
	s.wantPage(order, "Thank you: your order is paid.", "2 × Cup", "34.40")

	// A refund needs the login of the shop's office, and must be sent from a page of the shop.
	s.browse("GET", s.address+"/office", nil, 401, "authorization", "Basic b2ZmaWNlOng=")
	office, _ = s.browse("GET", s.address+"/office", nil, 200)
	button := refundButton.FindStringSubmatch(office)
	if button == nil {
		t.Fatalf("no refund button:\n%s", office)
	}
	refund := url.Values{"number": {button[1]}}
	s.browse("POST", s.address+"/office/refund", refund, 403, "origin", "https://evil.example")
	s.browse("POST", s.address+"/office/refund", refund, 200)
	s.await("transaction.refunded")
	office, _ = s.browse("GET", s.address+"/office", nil, 200)
	s.wantPage(office, "refunded")
	order, _ = s.browse("GET", back[1], nil, 200)
	s.wantPage(order, "Your money was returned.")

	// The service replays a notification with a new signature. The shop must not act on it again.
	var deliveries struct {
		Data []struct {
			EventID string `json:"event_id"`
		} `json:"data"`
	}
	answer, err := server.Admin().Get("/api/v1/deliveries?limit=10")
	testkit.WantStatus(t, answer, err, 200)
	if err := json.Unmarshal(answer.Body, &deliveries); err != nil || len(deliveries.Data) == 0 {
		t.Fatalf("%v %s", err, answer.Body)
	}
	for _, delivery := range deliveries.Data {
		answer, err = server.Admin().Post("/api/v1/deliveries/"+delivery.EventID+"/replay", nil)
		testkit.WantStatus(t, answer, err, 200)
	}
	order, _ = s.browse("GET", back[1], nil, 200)
	s.wantPage(order, "Your money was returned.")
}
