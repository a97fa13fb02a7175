package store
import ("testing";"encoding/binary";"math/rand/v2";"fmt";"time";"runtime/debug")
func TestBig(t *testing.T) {
	debug.SetMemoryLimit(1<<62)
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	random := rand.New(rand.NewPCG(1, 2))
	key, value := make([]byte, 41), make([]byte, 260)
	n, hash := s.LastGroup()
	g := NewGroup(n+1, hash)
	start:=time.Now()
	var peak int64
	for i := range 6500 {
		for range 1000 {
			key[0] = "bprn"[random.IntN(4)]
			binary.BigEndian.PutUint64(key[1:], random.Uint64N(1000))
			binary.BigEndian.PutUint64(key[30:], random.Uint64())
			binary.BigEndian.PutUint64(value, random.Uint64())
			g.Set(key, value)
		}
		hash = g.Seal()
		if err := s.Apply(g); err != nil { t.Fatal(err) }
		g.Reset(g.N()+1, hash)
		if a := residentAnonymous(t); a > peak { peak = a }
		if i%1000==999 { fmt.Println(i, time.Since(start).Round(time.Millisecond), "anon",residentAnonymous(t)>>20, "peak", peak>>20, "size", s.Size()>>20) }
	}
	fmt.Println("peak",peak>>20, time.Since(start))
	for i := range 3 {
	start = time.Now(); N := 20000
	for range N {
		key[0]='p'
		binary.BigEndian.PutUint64(key[1:], random.Uint64N(1000))
		sn := s.Snapshot()
		_, _, ok, err := sn.Last(key[:9], nil)
		if !ok || err != nil { t.Fatal(ok, err) }
		sn.Close()
	}
	fmt.Println(i, "last", time.Since(start)/time.Duration(N), "L0", s.db.Levels()[0].NumTables)
	}
	start=time.Now()
	s.Close()
	fmt.Println("closed", time.Since(start))
	start=time.Now()
	s = open(t, Options{Dir: dir})
	fmt.Println("opened", time.Since(start))
	start=time.Now()
	sn := s.Snapshot()
	rows := 0
	sn.Ascend(nil,nil,func(k,v []byte)(bool,error){rows++;return true,nil})
	fmt.Println("scan", rows, time.Since(start))
	sn.Close()
	s.Close()
}
