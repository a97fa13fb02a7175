package api_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// The administration can still set passwords while any number of callers try to log in at once.
func TestAdministrationWorksDuringAFloodOfLogins(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	firstOrg := f.seed.First.Org.String()
	const connections = 300
	atMaximum := make(chan struct{})
	reportAtMaximum := sync.OnceFunc(func() { close(atMaximum) })
	var flood sync.WaitGroup
	for i := range connections {
		flood.Go(func() {
			r := f.logIn(firstOrg, loginBody(fmt.Sprintf("x%d", i), "y"))
			switch {
			case r.status == 429 && r.at("message") == "too many attempts to log in at once" && r.header.Get("retry-after") == "1":
				reportAtMaximum()
			case r.status == 503: // on a slow machine the flood may last longer than a login waits
			case r.status != 401:
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
	go func() { flood.Wait(); reportAtMaximum() }()
	<-atMaximum // wait until the maximum number of logins is under way
	for i := range 3 {
		f.admin().post(users, fmt.Sprintf(`{"login":"u%d","name":"N","pass":%q,"roles":["client"]}`, i, goodPass)).want(201, "")
		f.admin().post("/api/v1/partners", fmt.Sprintf(`{"login":"p%d","name":"N","pass":"correct-Lions-paint-9"}`, i)).want(201, "")
	}
	flood.Wait()
}

// transportFrom returns an HTTP transport whose connections come from the given loopback address.
func transportFrom(t *testing.T, address string) *http.Transport {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	addressTransport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64}
	t.Cleanup(addressTransport.CloseIdleConnections)
	return addressTransport
}

// logInFrom posts a login over addressTransport, which transportFrom has returned, and returns the response's status.
func (f *fixture) logInFrom(addressTransport *http.Transport, login, pass string) (int, error) {
	request, err := http.NewRequest("POST", f.base()+sessions, strings.NewReader(loginBody(login, pass)))
	if err != nil {
		return 0, err
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("x-organization-id", f.seed.First.Org.String())
	response, err := addressTransport.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

// However many logins are attempted from a few IP addresses, a login from another address is not refused and does not wait until
// all these attempts have ended.
func TestFloodingAddressesDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.admin().post(users, fmt.Sprintf(`{"login":"anna","name":"A","pass":%q,"roles":["client"]}`, goodPass)).want(201, "")
	var floodEnded atomic.Bool
	var flood sync.WaitGroup
	atMaximum := make(chan struct{})
	reportAtMaximum := sync.OnceFunc(func() { close(atMaximum) })
	for addressNumber := range 6 {
		addressTransport := transportFrom(t, fmt.Sprintf("127.0.%d.%d", addressNumber%2, addressNumber+2))
		for i := range 64 {
			flood.Go(func() {
				for n := 0; !floodEnded.Load(); n++ {
					status, err := f.logInFrom(addressTransport, fmt.Sprintf("x%d-%d-%d", addressNumber, i, n), "y")
					if status == 429 || status == 503 {
						reportAtMaximum()
						return // so only as many goroutines continue as logins may run at once
					}
					if err != nil || status != 401 {
						t.Errorf("%d %v", status, err)
						return
					}
				}
			})
		}
	}
	<-atMaximum
	otherTransport := transportFrom(t, "127.0.0.99")
	for range 3 {
		if status, err := f.logInFrom(otherTransport, "anna", goodPass); status != 201 || err != nil {
			t.Errorf("from another address: %d %v", status, err)
		}
	}
	floodEnded.Store(true)
	flood.Wait()
}
