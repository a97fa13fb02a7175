package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// residentAnonymous returns how many bytes of the process's resident memory are not backed by files.
func residentAnonymous(tb testing.TB) int64 {
	var kib int64
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		tb.Skip(err)
	}
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "RssAnon:") {
			fmt.Sscanf(strings.TrimPrefix(line, "RssAnon:"), "%d", &kib)
		}
	}
	return kib << 10
}

// BenchmarkApply applies groups of 100 to 8000 rows, with about 300 bytes per row, as in production.
func BenchmarkApply(b *testing.B) {
	for _, rows := range []int{100, 1000, 8000} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			s := open(b, Options{Dir: b.TempDir()})
			random := rand.New(rand.NewPCG(1, 2))
			key, value := make([]byte, 41), make([]byte, 260)
			n, hash := s.LastGroup()
			g := NewGroup(n+1, hash)
			var maxMemory int64
			for b.Loop() {
				for range rows {
					key[0] = "bprn"[random.IntN(4)]
					binary.BigEndian.PutUint64(key[1:], random.Uint64N(1000))
					binary.BigEndian.PutUint64(key[30:], random.Uint64())
					binary.BigEndian.PutUint64(value, random.Uint64())
					g.Set(key, value)
				}
				hash = g.Seal()
				if err := s.Apply(g); err != nil {
					b.Fatal(err)
				}
				g.Reset(g.N()+1, hash)
				maxMemory = max(maxMemory, residentAnonymous(b))
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*rows), "µs/row")
			b.ReportMetric(float64(maxMemory>>20), "MiB-anon")
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}
