package api_test

import (
	"fmt"
	"sync"
	"testing"
)

// Anybody may try to log in. However many do at once, with however many logins,
// the administration sets its passwords.
func TestAFloodOfLoginsKeepsTheAdministrationIn(t *testing.T) {
	t.Parallel()
	h := open(t)
	first := h.seed.First.Org.String()
	const connections = 300
	crowded := make(chan struct{})
	full := sync.OnceFunc(func() { close(crowded) })
	var flood sync.WaitGroup
	for i := range connections {
		flood.Go(func() {
			a := h.in(first, credentials(fmt.Sprintf("x%d", i), "y"))
			switch {
			case a.status == 429 && a.at("message") == "too many attempts to log in at once" && a.header.Get("retry-after") == "1":
				full()
			case a.status == 503: // on a busy machine a flood outlasts how long a login waits
			case a.status != 401:
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	go func() { flood.Wait(); full() }()
	<-crowded // as many are under way as may be
	for i := range 3 {
		h.admin().post(users, fmt.Sprintf(`{"login":"u%d","name":"N","pass":%q,"roles":["client"]}`, i, goodPass)).want(201, "")
		h.admin().post("/api/v1/partners", fmt.Sprintf(`{"login":"p%d","name":"N","pass":"correct"}`, i)).want(201, "")
	}
	flood.Wait()
}
