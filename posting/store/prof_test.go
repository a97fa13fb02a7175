package store

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"
)

func TestProf(t *testing.T) {
	s := mustOpen(t, Options{Dir: t.TempDir(), MemTable: benchMem()})
	random := rand.New(rand.NewPCG(1, 2))
	key, value := make([]byte, 41), make([]byte, 260)
	n, hash := s.LastGroup()
	g := NewGroup(n+1, hash)
	start := time.Now()
	var peak int64
	for i := range 2000 {
		for range 2000 {
			key[0] = "bprn"[random.IntN(4)]
			binary.BigEndian.PutUint64(key[1:], random.Uint64N(1000))
			binary.BigEndian.PutUint64(key[30:], random.Uint64())
			binary.BigEndian.PutUint64(value, random.Uint64())
			g.Set(key, value)
		}
		hash = g.Seal()
		if err := s.Apply(g); err != nil {
			t.Fatal(err)
		}
		g.Reset(g.N()+1, hash)
		a := residentAnonymous(t)
		if a > peak+(50<<20) {
			peak = a
			f, _ := os.Create("/tmp/sb/heap.out")
			pprof.Lookup("heap").WriteTo(f, 0)
			f.Close()
		}
		if i%500 == 499 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			fmt.Println(i, time.Since(start).Round(time.Millisecond), "anon", a>>20, "heapalloc", m.HeapAlloc>>20, "sys", m.HeapSys>>20, "rel", m.HeapReleased>>20, "next", m.NextGC>>20, "gc", m.NumGC)
		}
	}
	fmt.Println("peak", peak>>20, time.Since(start))
	s.Close()
	fmt.Println("closed", time.Since(start))
}
