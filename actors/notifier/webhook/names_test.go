package webhook

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"code.dny.dev/ssrf"
)

// Special answers that the test's name server may give for a name instead of addresses.
const (
	noSuchName    = "NXDOMAIN"
	serverFailure = "SERVFAIL"
	noResponse    = "silent" // the name server does not respond
)

// newResolver returns a resolver that asks a name server of the test. The function addresses returns a name's
// current addresses, or one of the constants above.
func newResolver(t *testing.T, addresses func(name string) []string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		question := make([]byte, 512)
		for {
			n, from, err := server.ReadFrom(question)
			if err != nil {
				return
			}
			if answer := answerName(question[:n], addresses); answer != nil {
				_, _ = server.WriteTo(answer, from)
			}
		}
	}()
	t.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}

// answerName answers one question (RFC 1035, 4.1); nil: no response.
func answerName(question []byte, addresses func(string) []string) []byte {
	var labels []string
	offset := 12
	for question[offset] != 0 {
		size := int(question[offset])
		labels = append(labels, string(question[offset+1:offset+1+size]))
		offset += 1 + size
	}
	kind := binary.BigEndian.Uint16(question[offset+1:])
	questionEnd := offset + 5
	answer := append([]byte(nil), question[:questionEnd]...)
	code, count := byte(0), uint16(0)
	for _, text := range addresses(strings.Join(labels, ".")) {
		switch text {
		case noResponse:
			return nil
		case noSuchName:
			code = 3
			continue
		case serverFailure:
			code = 2
			continue
		}
		address := netip.MustParseAddr(text)
		if is4 := address.Is4(); is4 != (kind == 1) || !is4 && kind != 28 {
			continue
		}
		raw := address.AsSlice()
		answer = append(answer, 0xc0, 12, byte(kind>>8), byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(raw)))
		answer = append(answer, raw...)
		count++
	}
	answer[2], answer[3] = 0x85, 0x80|code // flags: an authoritative answer, recursion available
	binary.BigEndian.PutUint16(answer[6:], count)
	binary.BigEndian.PutUint16(answer[8:], 0)
	binary.BigEndian.PutUint16(answer[10:], 0)
	return answer
}

// urlAt returns the receiver's URL with another host.
func (r *receiver) urlAt(host string) string {
	_, port, _ := net.SplitHostPort(r.listener.Addr().String())
	return "http://" + net.JoinHostPort(host, port) + "/"
}

func TestHostNamesAreResolved(t *testing.T) {
	t.Parallel()
	receiver := startReceiver(t, acknowledge)
	sender := openSender(t)
	sender.dialer.Resolver = newResolver(t, func(name string) []string {
		return map[string][]string{"shop.test": {"127.0.0.1"}, "gone.test": {noSuchName}, "broken.test": {serverFailure}, "empty.test": {}}[name]
	})
	sender.Deliver(testDelivery(receiver.urlAt("shop.test"))).want(t, 200, "")
	sender.Deliver(testDelivery(receiver.urlAt("shop.test."))).want(t, 200, "")
	sender.Deliver(testDelivery(receiver.urlAt("gone.test."))).want(t, 0, "name not found")
	sender.Deliver(testDelivery(receiver.urlAt("empty.test."))).want(t, 0, "name not found")
	sender.Deliver(testDelivery(receiver.urlAt("broken.test."))).want(t, 0, "name could not be looked up")
	sender.Deliver(testDelivery(receiver.urlAt("not a name"))).want(t, 0, "address not usable")
	sender.Deliver(testDelivery(receiver.urlAt("a..b"))).want(t, 0, "name not found")
}

func TestSilentNameServerTimesOut(t *testing.T) {
	t.Parallel()
	sender := openSender(t, func(s *settings) { s.bounds.connect = shortBound })
	sender.dialer.Resolver = newResolver(t, func(string) []string { return []string{noResponse} })
	sender.Deliver(testDelivery("http://shop.test./")).want(t, 0, "no connection within 5 s")
}

// privateAddresses are addresses that are not on the internet, by their kind.
var privateAddresses = map[string][]string{
	"loopback":       {"127.0.0.1", "127.255.255.254", "::1"},
	"private":        {"10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.254", "192.168.0.1", "fc00::1", "fdff::1", "fec0::1"},
	"link-local":     {"169.254.0.1", "169.254.169.254", "fe80::1"},
	"shared (CGNAT)": {"100.64.0.1", "100.127.255.254"},
	"mapped":         {"::ffff:127.0.0.1", "::ffff:10.0.0.1", "::127.0.0.1"},
	"NAT64":          {"64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1"},
	"tunnels":        {"2002:7f00:1::1", "2001::1"},
	"unspecified":    {"0.0.0.0", "0.1.2.3", "::"},
	"metadata":       {"169.254.169.254", "100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254"},
	"multicast":      {"224.0.0.1", "239.255.255.255", "ff02::1"},
	"reserved":       {"240.0.0.1", "255.255.255.255", "198.18.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "2001:db8::1", "3fff::1", "100::1", "4000::1"},
	"deprecated":     {"192.88.99.1", "192.31.196.1", "192.52.193.1", "192.175.48.1", "2620:4f:8000::1"},
	"zero network":   {"0.0.0.1"},
}

// The dialled address is checked, whether the URL has an address or a name.
func TestPrivateAddressesAreRefused(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var resolved string
	sender := openSender(t, func(s *settings) { s.options.AllowPrivate = false })
	sender.dialer.Resolver = newResolver(t, func(string) []string {
		mu.Lock()
		defer mu.Unlock()
		return []string{resolved}
	})
	for kind, addresses := range privateAddresses {
		for _, address := range addresses {
			for _, scheme := range []string{"http://", "https://"} {
				a := sender.Deliver(testDelivery(scheme + net.JoinHostPort(address, "9") + "/"))
				if a.want(t, 0, "address not allowed"); t.Failed() {
					t.Fatalf("%s: %s", kind, address)
				}
			}
			if ip := netip.MustParseAddr(address); ip.Is4In6() {
				continue // a name server's response cannot have that form
			}
			mu.Lock()
			resolved = address
			mu.Unlock()
			a := sender.Deliver(testDelivery("http://shop.test.:9/"))
			if a.want(t, 0, "address not allowed"); t.Failed() {
				t.Fatalf("%s: %s by name", kind, address)
			}
		}
	}
}

func TestPublicAddressesAreAllowed(t *testing.T) {
	t.Parallel()
	check := newDialGuard()
	for _, address := range []string{"8.8.8.8:443", "1.1.1.1:80", "172.15.255.255:8080", "172.32.0.0:1", "100.63.255.255:65535", "100.128.0.0:80", "[2606:4700::1111]:443", "[2a00::1]:80"} {
		if err := check("tcp4", address, nil); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for network, address := range map[string]string{"tcp": "8.8.8.8:80", "udp4": "8.8.8.8:80", "unix": "/x", "tcp4": "8.8.8.8"} {
		if check(network, address, nil) == nil {
			t.Errorf("%s %s is let through", network, address)
		}
	}
}

// If private addresses are allowed, this machine can be reached by every form of its address.
func TestPrivateAddressesCanBeAllowed(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	r := startReceiverOn(t, listener, acknowledge)
	sender := openSender(t)
	if sender.dialer.Control != nil {
		t.Error("addresses are checked")
	}
	for _, host := range []string{"127.0.0.1", "127.9.8.7", "0.0.0.0", "::ffff:127.0.0.1"} {
		sender.Deliver(testDelivery(r.urlAt(host))).want(t, 200, "")
	}
}

func TestIPv6IsSupported(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("there is no IPv6 on this machine")
	}
	r := startReceiverOn(t, listener, acknowledge)
	sender := openSender(t)
	sender.dialer.Resolver = newResolver(t, func(string) []string { return []string{"::1", "127.0.0.1"} })
	for range 2 {
		sender.Deliver(testDelivery(r.url())).want(t, 200, "")
		sender.Deliver(testDelivery(r.urlAt("shop.test."))).want(t, 200, "") // at the first of the name's addresses that accepts a connection
	}
	r.wantConnections(1, 2, 1, 2)
	if host := r.requests()[0].host; host != r.listener.Addr().String() {
		t.Errorf("asked for %s", host)
	}
}

// A name server may give different answers over time, so the address of each new connection is checked.
// Here 127.0.0.1 counts as the internet, and 127.0.0.2 as private.
func TestEachNewConnectionsAddressIsChecked(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	receiver := startReceiverOn(t, listener, answerOnce(acknowledged))
	sender := openSender(t, func(s *settings) { s.options.AllowPrivate = false })
	sender.dialer.Control = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(netip.MustParsePrefix("127.0.0.1/32"))).Safe
	var mu sync.Mutex
	resolved := "127.0.0.1"
	sender.dialer.Resolver = newResolver(t, func(string) []string {
		mu.Lock()
		defer mu.Unlock()
		return []string{resolved}
	})
	sender.Deliver(testDelivery(receiver.urlAt("shop.test."))).want(t, 200, "")
	mu.Lock()
	resolved = "127.0.0.2"
	mu.Unlock()
	sender.Deliver(testDelivery(receiver.urlAt("shop.test."))).want(t, 0, "address not allowed")
	if n := receiver.connections(); n != 1 {
		t.Errorf("%d connections came", n)
	}
	mu.Lock()
	resolved = "127.0.0.1"
	mu.Unlock()
	sender.Deliver(testDelivery(receiver.urlAt("shop.test."))).want(t, 200, "")
}

func TestNoProxyOfTheEnvironmentIsUsed(t *testing.T) {
	proxy := startReceiver(t, acknowledge)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"} {
		t.Setenv(name, "http://"+proxy.listener.Addr().String())
	}
	listener, err := net.Listen("tcp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	r := startReceiverOn(t, listener, acknowledge)
	sender := openSender(t)
	sender.dialer.Resolver = newResolver(t, func(string) []string { return []string{"127.0.0.1"} })
	sender.Deliver(testDelivery(r.urlAt("shop.test."))).want(t, 200, "")
	proxy.wantConnections()
	r.wantConnections(1)
}

func TestNoCookieIsKept(t *testing.T) {
	t.Parallel()
	r := startReceiver(t, answerWith("HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"))
	sender := openSender(t)
	for range 2 {
		sender.Deliver(testDelivery(r.url())).want(t, 200, "")
	}
	if got := r.requests()[1].header.Get("cookie"); got != "" {
		t.Errorf("it was sent back: %s", got)
	}
}

// A lack of resources on this machine concerns the operator, and is logged once a minute.
func TestLackOfConnectionsIsLogged(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	sender := openSender(t, func(s *settings) { s.options.Log = textLog(&log) })
	sender.dialer.Control = failWithoutFiles
	for range 3 {
		sender.Deliver(testDelivery("http://127.0.0.1:9/CANARY")).want(t, 0, "no connections left here")
	}
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "ERROR") || strings.Contains(got, "CANARY") {
		t.Error(got)
	}
}
