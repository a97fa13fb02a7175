package store

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mizan/posting/store/badgerfile"
)

// specimen is the directory of a store after a kill or a close, and its expected content.
type specimen struct {
	dir      string
	stale    string // an earlier state of the same store
	history  history
	acked    uint64
	expected map[uint64]model // the content after each group that may be the last
}

// newSpecimen makes a specimen with tables on two levels. If it is not closed but killed, it also has logs.
func newSpecimen(t *testing.T, seed uint64, groups uint64, closed bool) *specimen {
	t.Helper()
	sp := &specimen{dir: t.TempDir(), stale: t.TempDir(), history: childHistory(seed, fewKeys), expected: make(map[uint64]model)}
	for _, n := range []uint64{groups / 2, groups} {
		p := startChild(t, sp.dir, sp.history, n)
		p.readUntil(t, "done")
		sp.acked = p.kill(t)
		if closed {
			closeStore(t, open(t, Options{Dir: sp.dir, MemTable: minMemTable}))
		}
		if n < groups {
			copyTree(t, sp.dir, sp.stale)
		}
	}
	if sp.acked != groups {
		t.Fatalf("the specimen ends at group %d", sp.acked)
	}
	m := make(model)
	sp.history.applyTo(m, 0, groups)
	sp.expected[groups] = m
	return sp
}

// files returns the paths of all files, relative to the directory.
func files(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path) // it is under dir
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// tryOpening opens a damaged store, applies a group and opens it again. refusal is the error with which the
// store is refused. fault says what is wrong: the error is not one clear line, or the store has other content
// than expected.
func (sp *specimen) tryOpening(dir string) (refusal error, fault error) {
	for round := range 2 {
		s, err := Open(Options{Dir: dir, MemTable: minMemTable, Log: discardLog})
		if err != nil {
			return err, unclear(err)
		}
		last, hash := s.LastGroup()
		if last < sp.acked {
			return nil, fmt.Errorf("opened at group %d, acknowledged were %d", last, sp.acked)
		}
		m := cloneModel(sp.expected[sp.acked])
		sp.history.applyTo(m, sp.acked, last)
		if err := sp.history.differenceFrom(s, m); err != nil {
			return nil, fmt.Errorf("opened %d times: %w", round+1, err)
		}
		g := NewGroup(last+1, hash)
		sp.history.fill(g)
		g.Seal()
		if err := s.Apply(g); err != nil {
			return nil, err
		}
		if err := s.Close(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// unclear returns what is wrong with the text of an error; nil if the text is clear.
func unclear(err error) error {
	var damage *DamageError
	switch text := err.Error(); {
	case strings.ContainsAny(text, "\n\t") || len(text) > 400:
		return fmt.Errorf("not one clear line: %q", text)
	case errors.As(err, &damage) && !strings.HasSuffix(text, "restore from a backup"):
		return fmt.Errorf("it does not say what to do: %s", text)
	case !errors.As(err, &damage) && !strings.Contains(text, "/"):
		return fmt.Errorf("neither damage nor a path: %s", text)
	}
	return nil
}

// harm is a way to damage a file. The function apply gets the content, an earlier content (nil if there is none)
// and the content of another file of the same kind, and returns the damaged content; nil if the harm can't be
// done to the file.
type harm struct {
	name  string
	apply func(r *rand.Rand, now, stale, other []byte) []byte
}

func flipAt(at func(r *rand.Rand, n int) int) func(*rand.Rand, []byte, []byte, []byte) []byte {
	return func(r *rand.Rand, now, _, _ []byte) []byte {
		if len(now) == 0 {
			return nil
		}
		b := bytes.Clone(now)
		b[min(max(at(r, len(b)), 0), len(b)-1)] ^= 1 << r.IntN(8)
		return b
	}
}

func cutTo(at func(r *rand.Rand, n int) int) func(*rand.Rand, []byte, []byte, []byte) []byte {
	return func(r *rand.Rand, now, _, _ []byte) []byte {
		return append([]byte{}, now[:max(at(r, len(now)), 0)]...) // not nil, even if it is empty
	}
}

func anywhere(r *rand.Rand, n int) int { return r.IntN(n) }

// flipInUse flips a bit before the zeros that fill the end of the file.
func flipInUse(r *rand.Rand, now, _, _ []byte) []byte {
	used := len(bytes.TrimRight(now, "\x00"))
	if used == 0 {
		return nil
	}
	b := bytes.Clone(now)
	b[r.IntN(used)] ^= 1 << r.IntN(8)
	return b
}

var harms = []harm{
	{"flip the first byte", flipAt(func(*rand.Rand, int) int { return 0 })},
	{"flip byte 5", flipAt(func(*rand.Rand, int) int { return 5 })},
	{"flip in the header", flipAt(func(r *rand.Rand, _ int) int { return r.IntN(64) })},
	{"flip in the middle", flipAt(func(_ *rand.Rand, n int) int { return n / 2 })},
	{"flip anywhere", flipAt(anywhere)},
	{"flip anywhere in use", flipInUse},
	{"flip anywhere in use again", flipInUse},
	{"flip near the end", flipAt(func(r *rand.Rand, n int) int { return n - 1 - r.IntN(40) })},
	{"flip the last byte", flipAt(func(_ *rand.Rand, n int) int { return n - 1 })},
	{"cut to nothing", cutTo(func(*rand.Rand, int) int { return 0 })},
	{"cut to 10 bytes", cutTo(func(_ *rand.Rand, n int) int { return min(n, 10) })},
	{"cut in half", cutTo(func(_ *rand.Rand, n int) int { return n / 2 })},
	{"cut anywhere", cutTo(func(r *rand.Rand, n int) int { return r.IntN(n + 1) })},
	{"cut off the last byte", cutTo(func(_ *rand.Rand, n int) int { return n - 1 })},
	{"zero it", func(_ *rand.Rand, now, _, _ []byte) []byte { return make([]byte, len(now)) }},
	{"zero a page", func(r *rand.Rand, now, _, _ []byte) []byte {
		b := bytes.Clone(now)
		page := r.IntN(len(b)/4096+1) * 4096
		clear(b[page:min(page+4096, len(b))])
		return b
	}},
	{"append garbage", func(r *rand.Rand, now, _, _ []byte) []byte {
		return append(bytes.Clone(now), byte(r.Uint32()|1), byte(r.Uint32()), byte(r.Uint32()), 0, 0, 0, 1, 2, 3)
	}},
	{"a stale copy", func(_ *rand.Rand, _, stale, _ []byte) []byte { return stale }},
	{"another of its kind", func(_ *rand.Rand, _, _, other []byte) []byte { return other }},
}

// kind returns a file's extension, or its name if it has none.
func kind(name string) string {
	if ext := filepath.Ext(name); ext != "" {
		return ext
	}
	return filepath.Base(name)
}

// otherOfKind returns the name of another file of the same kind; empty if there is none.
func otherOfKind(names []string, name string) string {
	for _, n := range names {
		if n != name && kind(n) == kind(name) {
			return n
		}
	}
	return ""
}

// chooseFiles returns the names, but of a kind with more than two files only the last one and a random one.
func chooseFiles(r *rand.Rand, names []string) (chosen []string) {
	byKind := make(map[string][]string)
	for _, n := range names {
		byKind[kind(n)] = append(byKind[kind(n)], n)
	}
	for _, ofKind := range byKind {
		if k := len(ofKind); k > 2 {
			ofKind = []string{ofKind[r.IntN(k-1)], ofKind[k-1]}
		}
		chosen = append(chosen, ofKind...)
	}
	slices.Sort(chosen)
	return chosen
}

// readFile returns the content of a file; nil if it does not exist.
func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDamageIsDetectedOrHarmless(t *testing.T) {
	sd, soak := seed(t), os.Getenv("MIZAN_SOAK") != ""
	for _, closed := range []bool{false, true} {
		sp := newSpecimen(t, sd, 800, closed)
		r := rand.New(rand.NewPCG(sd, 3))
		refusals := make(map[string]int)
		names := files(t, sp.dir)
		for _, name := range chooseFiles(r, names) {
			for _, h := range harms {
				if closed && r.IntN(3) > 0 || !soak && r.IntN(2) > 0 || testing.Short() && r.IntN(8) > 0 {
					continue // it is tried with the store that was killed, or in another run
				}
				sp.tryHarm(t, r, h, names, name, refusals)
			}
		}
		t.Logf("closed %v: refused %v", closed, refusals)
	}
}

// tryHarm damages one file of a copy, and checks how the copy opens.
func (sp *specimen) tryHarm(t *testing.T, r *rand.Rand, h harm, names []string, name string, refusals map[string]int) {
	t.Helper()
	now := readFile(t, filepath.Join(sp.dir, name))
	stale := readFile(t, filepath.Join(sp.stale, name))
	var other []byte
	if o := otherOfKind(names, name); o != "" {
		other = readFile(t, filepath.Join(sp.dir, o))
	}
	b := h.apply(r, now, stale, other)
	if b == nil || bytes.Equal(b, now) {
		return
	}
	dir := sp.copy(t)
	defer dropTree(t, dir)
	if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
		t.Fatal(err)
	}
	refusal, fault := sp.tryOpening(dir)
	if fault != nil {
		t.Errorf("%s: %s: %v", name, h.name, fault)
	}
	if refusal != nil {
		refusals[kind(name)]++
	}
}

// copy copies the specimen, into a file system in memory if there is one: it is opened hundreds of times, and
// its syncs do not matter here.
func (sp *specimen) copy(t *testing.T) (dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "mizan-store-")
	if err != nil {
		dir = t.TempDir()
	}
	copyTree(t, sp.dir, dir)
	return dir
}

func dropTree(t *testing.T, dir string) {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

func TestMissingFileIsDetectedOrHarmless(t *testing.T) {
	sp := newSpecimen(t, seed(t), 300, false)
	survey, err := badgerfile.Examine(filepath.Join(sp.dir, storeName), rowBounds)
	if err != nil {
		t.Fatal(err)
	}
	names := files(t, sp.dir)
	if testing.Short() { // the race detector sees the same goroutines whichever file of a kind is gone
		names = chooseFiles(rand.New(rand.NewPCG(seed(t), 5)), names)
	}
	for _, name := range names {
		dir := sp.copy(t)
		remove(t, filepath.Join(dir, name))
		refusal, fault := sp.tryOpening(dir)
		if fault != nil {
			t.Errorf("%s: %v", name, fault)
		}
		id, isTable := badgerfile.TableID(filepath.Base(name))
		_, isListed := survey.Tables[id]
		isNeeded := isTable && isListed || kind(name) == "MANIFEST" || kind(name) == "HEAD"
		if isNeeded && refusal == nil {
			t.Errorf("%s is gone, and the store opened", name)
		}
		dropTree(t, dir)
	}
}

// Files that were deleted long ago may reappear: with a backup that is copied over the directory, or with an
// older state of the file system.
func TestReappearingFilesAreHarmless(t *testing.T) {
	sp := newSpecimen(t, seed(t), 600, false)
	dir := sp.copy(t)
	defer dropTree(t, dir)
	var recovered []string
	present := files(t, sp.dir)
	for _, name := range files(t, sp.stale) {
		if slices.Contains(present, name) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), readFile(t, filepath.Join(sp.stale, name)), 0o600); err != nil {
			t.Fatal(err)
		}
		recovered = append(recovered, name)
	}
	if len(recovered) == 0 {
		t.Fatal("there is no file that was deleted since")
	}
	if refusal, fault := sp.tryOpening(dir); refusal != nil || fault != nil {
		t.Errorf("with %v back: %v, %v", recovered, refusal, fault)
	}
}

func TestLostStoreIsNotCreatedAgain(t *testing.T) {
	dir := t.TempDir()
	s := open(t, Options{Dir: dir})
	set(t, s, "a", "1")
	closeStore(t, s)
	wantRefused := func(what string) {
		t.Helper()
		var d *DamageError
		if _, err := Open(Options{Dir: dir, Log: discardLog}); !errors.As(err, &d) {
			t.Errorf("%s: Open = %v, want a *DamageError", what, err)
		}
	}
	for _, name := range files(t, s.path) {
		remove(t, filepath.Join(s.path, name))
	}
	wantRefused("the store is empty")
	dropTree(t, s.path)
	wantRefused("the store is gone")
	if err := os.WriteFile(filepath.Join(dir, headName), make([]byte, 100), 0o600); err != nil {
		t.Fatal(err)
	}
	wantRefused("the store is gone and HEAD is damaged")
}

// TestSoakDamage damages small stores until its time is over. It flips one bit at a time, at places all over
// every file.
func TestSoakDamage(t *testing.T) {
	text := os.Getenv("MIZAN_SOAK")
	if text == "" {
		t.Skip("set MIZAN_SOAK to a duration")
	}
	limit, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	start, sd := time.Now(), seed(t)
	r := rand.New(rand.NewPCG(sd, 4))
	tried := 0
	for time.Since(start) < limit {
		sp := newSpecimen(t, r.Uint64(), []uint64{3, 3, 40, 400}[r.IntN(4)], r.IntN(2) == 0)
		for _, name := range files(t, sp.dir) {
			now := readFile(t, filepath.Join(sp.dir, name))
			used := len(bytes.TrimRight(now, "\x00")) + 64
			for at := r.IntN(1 + used/2000); at < min(used, len(now)) && time.Since(start) < limit; at += 1 + used/2000 {
				flip := harm{fmt.Sprintf("flip a bit of byte %d", at), flipAt(func(*rand.Rand, int) int { return at })}
				sp.tryHarm(t, r, flip, nil, name, make(map[string]int))
				tried++
			}
		}
	}
	t.Logf("%d bytes were tried", tried)
}
