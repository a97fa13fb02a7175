package webhook

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"mizan/internal/clock"
)

// benchmarkInFlight is how many deliveries are in progress at once per processor.
const benchmarkInFlight = 16

// sink starts a server in this process that acknowledges everything, and returns its URL.
func sink(b *testing.B, secured *tls.Config) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	bare, scheme := listener, "http"
	if secured != nil {
		listener, scheme = tls.NewListener(listener, secured), "https"
	}
	server := &fasthttp.Server{Handler: func(*fasthttp.RequestCtx) {}, NoDefaultServerHeader: true}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	b.Cleanup(func() {
		if err := bare.Close(); err != nil {
			b.Error(err)
		}
		<-ended
	})
	return scheme + "://" + listener.Addr().String() + "/hook"
}

func benchmarkDeliveryTo(url string) *Delivery {
	return &Delivery{
		URL: url, Secret: "a secret of the terminal's", EventID: "0d7c1b5e-2f3a-4c4d-8e5f-60718293a4b5", Type: "transaction.charged",
		Data: []byte(`{"type":"payment","txid":"order-1","id":"3f0c8a52-8d9e-4a5b-9c6d-7e8f9a0b1c2d","amount":"1000","amount_dest":"1000","amount_with_fee":"1000","status":"charged","error_description":"","merchant_meta":{"basket":[1,2]}}`),
	}
}

// measure runs deliveries and reports the cost of one, the sink's part included.
func measure(b *testing.B, deliver func() error) {
	b.Helper()
	b.ReportAllocs()
	b.SetParallelism(benchmarkInFlight)
	processorBefore := processor(b)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := deliver(); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(float64((processor(b)-processorBefore).Nanoseconds())/float64(b.N)/1000, "cpu-µs/delivery")
}

// processor returns the processor time that this process has used.
func processor(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type failed string

// Error implements error.
func (f failed) Error() string { return string(f) }

func BenchmarkDelivery(b *testing.B) {
	c := New(Options{AllowPrivate: true, Clock: clock.Real{}, Log: slog.New(slog.DiscardHandler)})
	b.Cleanup(c.Close)
	benchmarkDelivery(b, c, sink(b, nil))
}

func BenchmarkDeliveryOverTLS(b *testing.B) {
	a := newAuthority(b)
	c := New(Options{AllowPrivate: true, Clock: clock.Real{}, Log: slog.New(slog.DiscardHandler)})
	b.Cleanup(c.Close)
	c.roots = x509.NewCertPool()
	c.roots.AddCert(a.cert)
	benchmarkDelivery(b, c, sink(b, &tls.Config{Certificates: []tls.Certificate{a.issue(false, unchanged)}}))
}

func benchmarkDelivery(b *testing.B, c *Sender, url string) {
	b.Helper()
	p := benchmarkDeliveryTo(url)
	measure(b, func() error {
		if a := c.Deliver(p); a.Failure != "" {
			return failed(a.Failure)
		}
		return nil
	})
}

// BenchmarkNetHTTP makes the same requests with net/http's client.
func BenchmarkNetHTTP(b *testing.B) {
	p := benchmarkDeliveryTo(sink(b, nil))
	transport := &http.Transport{MaxIdleConnsPerHost: 1024}
	b.Cleanup(transport.CloseIdleConnections)
	measure(b, func() error {
		now := time.Now()
		s := buffersPool.Get().(*requestBuffers)
		defer s.release()
		s.body = appendEnvelope(s.body[:0], p, now.Unix())
		r, err := http.NewRequest("POST", p.URL, bytes.NewReader(s.body))
		if err != nil {
			return err
		}
		r.Header = http.Header{
			"Content-Type": {"application/json"}, "User-Agent": {userAgent}, "X-Webhook-Event-Id": {p.EventID}, "X-Webhook-Timestamp": {strconv.FormatInt(now.Unix(), 10)},
			"X-Webhook-Signature": {string(appendSignature(nil, p.Secret, now.Unix(), s.body))},
		}
		answer, err := transport.RoundTrip(r)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, io.LimitReader(answer.Body, maxBody))
		_ = answer.Body.Close()
		return err
	})
}

// BenchmarkFasthttp makes the same requests with fasthttp's client.
func BenchmarkFasthttp(b *testing.B) {
	p := benchmarkDeliveryTo(sink(b, nil))
	client := &fasthttp.Client{MaxConnsPerHost: 1024, MaxResponseBodySize: maxBody}
	b.Cleanup(client.CloseIdleConnections)
	measure(b, func() error {
		now := time.Now()
		s := buffersPool.Get().(*requestBuffers)
		defer s.release()
		s.body = appendEnvelope(s.body[:0], p, now.Unix())
		r, answer := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		defer fasthttp.ReleaseRequest(r)
		defer fasthttp.ReleaseResponse(answer)
		r.Header.SetMethod("POST")
		r.SetRequestURI(p.URL)
		r.Header.SetContentType("application/json")
		r.Header.SetUserAgent(userAgent)
		r.Header.Set("x-webhook-event-id", p.EventID)
		r.Header.Set("x-webhook-timestamp", strconv.FormatInt(now.Unix(), 10))
		r.Header.SetBytesV("x-webhook-signature", appendSignature(nil, p.Secret, now.Unix(), s.body))
		r.SetBodyRaw(s.body)
		return client.DoDeadline(r, answer, now.Add(15*time.Second))
	})
}
