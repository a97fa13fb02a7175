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
	first := f.seed.First.Org.String()
	const connections = 300
	crowded := make(chan struct{})
	reportCrowded := sync.OnceFunc(func() { close(crowded) })
	var flood sync.WaitGroup
	for i := range connections {
		flood.Go(func() {
			r := f.logIn(first, loginBody(fmt.Sprintf("x%d", i), "y"))
			switch {
			case r.status == 429 && r.at("message") == "too many attempts to log in at once" && r.header.Get("retry-after") == "1":
				reportCrowded()
			case r.status == 503: // on a busy machine a flood may last longer than a login waits
			case r.status != 401:
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
	go func() { flood.Wait(); reportCrowded() }()
	<-crowded // the maximum number is under way
	for i := range 3 {
		f.admin().post(users, fmt.Sprintf(`{"login":"u%d","name":"N","pass":%q,"roles":["client"]}`, i, goodPass)).want(201, "")
		f.admin().post("/api/v1/partners", fmt.Sprintf(`{"login":"p%d","name":"N","pass":"correct-Lions-paint-9"}`, i)).want(201, "")
	}
	flood.Wait()
}

// transportFrom returns a transport whose connections come from a loopback address.
func transportFrom(t *testing.T, address string) *http.Transport {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	tr := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 64}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// logInFrom posts a login and returns the response's status.
func (f *fixture) logInFrom(tr *http.Transport, login, pass string) (int, error) {
	request, err := http.NewRequest("POST", f.base()+sessions, strings.NewReader(loginBody(login, pass)))
	if err != nil {
		return 0, err
	}
	request.Header.Set("content-type", "application/json")
	request.Header.Set("x-organization-id", f.seed.First.Org.String())
	response, err := tr.RoundTrip(request)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, errors.Join(err, response.Body.Close())
}

// However many attempts come from a few addresses, an attempt from another address is neither
// refused nor waits for all of them.
func TestFloodingAddressesDoNotBlockOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.admin().post(users, fmt.Sprintf(`{"login":"anna","name":"A","pass":%q,"roles":["client"]}`, goodPass)).want(201, "")
	var floodEnded atomic.Bool
	var flood sync.WaitGroup
	atMaximum := make(chan struct{})
	reportAtMaximum := sync.OnceFunc(func() { close(atMaximum) })
	for a := range 6 {
		tr := transportFrom(t, fmt.Sprintf("127.0.%d.%d", a%2, a+2))
		for i := range 64 {
			flood.Go(func() {
				for n := 0; !floodEnded.Load(); n++ {
					status, err := f.logInFrom(tr, fmt.Sprintf("x%d-%d-%d", a, i, n), "y")
					if status == 429 || status == 503 {
						reportAtMaximum()
						return // only as many proceed as there are places
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
	other := transportFrom(t, "127.0.0.99")
	for range 3 {
		if status, err := f.logInFrom(other, "anna", goodPass); status != 201 || err != nil {
			t.Errorf("from another address: %d %v", status, err)
		}
	}
	floodEnded.Store(true)
	flood.Wait()
}
