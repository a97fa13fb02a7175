package store
import ("testing";"encoding/binary";"math/rand/v2";"fmt";"time")
func TestLastProf(t *testing.T) {
	s := mustOpen(t, Options{Dir: t.TempDir(), MemTable: benchMem()})
	random := rand.New(rand.NewPCG(1, 2))
	key, value := make([]byte, 41), make([]byte, 260)
	n, hash := s.LastGroup()
	g := NewGroup(n+1, hash)
	seq := uint64(0)
	for range 1000 {
		for range 2000 {
			seq++
			key[0] = 'p'
			binary.BigEndian.PutUint64(key[1:], random.Uint64N(10000))
			binary.BigEndian.PutUint64(key[33:], seq)
			binary.BigEndian.PutUint64(value, random.Uint64())
			g.Set(key, value)
		}
		hash = g.Seal()
		if err := s.Apply(g); err != nil { t.Fatal(err) }
		g.Reset(g.N()+1, hash)
	}
	for round := range 3 {
		for _, l := range s.db.Levels() { fmt.Print(" ", l.NumTables) }
		fmt.Println()
		start := time.Now(); N := 20000
		for range N {
			binary.BigEndian.PutUint64(key[1:], random.Uint64N(10000))
			sn := s.Snapshot()
			_, _, ok, err := sn.Last(key[:33], nil)
			if !ok || err != nil { t.Fatal(ok, err) }
			sn.Close()
		}
		fmt.Println(round, "own snapshot", time.Since(start)/time.Duration(N))
		start = time.Now()
		sn := s.Snapshot()
		for range N {
			binary.BigEndian.PutUint64(key[1:], random.Uint64N(10000))
			_, _, ok, err := sn.Last(key[:33], nil)
			if !ok || err != nil { t.Fatal(ok, err) }
		}
		fmt.Println(round, "one snapshot", time.Since(start)/time.Duration(N))
		start = time.Now()
		var dst []byte
		for range N {
			binary.BigEndian.PutUint64(key[1:], random.Uint64N(10000))
			dst, _, _ = sn.Get(key, dst)
		}
		fmt.Println(round, "get", time.Since(start)/time.Duration(N))
		sn.Close()
		time.Sleep(2*time.Second)
	}
	s.Close()
}
