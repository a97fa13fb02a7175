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

	"mizan/internal/testseed"
	"mizan/posting/store/badgerfile"
)

// specimen is a store that the tests damage: its directory after a kill or a close, and its expected content.
type specimen struct {
	dir      string
	staleDir string // an earlier state of the same store
	history  history
	acked    uint64           // the last acknowledged group
	expected map[uint64]model // content of the store, by the number of its last group
}

// newSpecimen makes a specimen with the given number of groups, whose tables are on two levels. If isClosed is false, its
// process was killed, and the last groups are only in the log.
func newSpecimen(t *testing.T, seed uint64, groups uint64, isClosed bool) *specimen {
	t.Helper()
	sp := &specimen{dir: t.TempDir(), staleDir: t.TempDir(), history: childHistory(seed, fewKeys), expected: make(map[uint64]model)}
	for _, n := range []uint64{groups / 2, groups} {
		p := startChild(t, sp.dir, sp.history, n)
		p.readUntil(t, "done")
		sp.acked = p.kill(t)
		if isClosed {
			closeStore(t, open(t, Options{Dir: sp.dir, MemTable: minMemTable}))
		}
		if n < groups {
			copyTree(t, sp.dir, sp.staleDir)
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

// files returns the paths of all files in the directory, relative to it.
func files(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path) // it can't fail, because path is in dir
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// tryOpening opens a damaged store, applies a group, and opens the store again. refusal is the error with which Open or a
// reader reports the damage. fault is a failure of the test: the refusal is not one clear line, or the store has other
// content than expected.
func (sp *specimen) tryOpening(dir string) (refusal error, fault error) {
	for round := range 2 {
		s, err := Open(Options{Dir: dir, MemTable: minMemTable, Log: discardLog})
		if err != nil {
			return err, unclear(err)
		}
		last, hash := s.LastGroup()
		if last < sp.acked {
			return nil, fmt.Errorf("opened at group %d, the last acknowledged one is %d", last, sp.acked)
		}
		m := cloneModel(sp.expected[sp.acked])
		sp.history.applyTo(m, sp.acked, last)
		if err := sp.history.differenceFrom(s, m); err != nil {
			if isDamage(err) { // a reader has found the damage when it compared a value with its checksum
				s.fail(err)
				settle(s)
				return err, unclear(err)
			}
			return nil, fmt.Errorf("opened %d times: %w", round+1, err)
		}
		g := NewGroup(last+1, hash)
		sp.history.fill(g)
		g.Seal()
		if err := errors.Join(s.Apply(g), s.Close()); err != nil {
			settle(s)
			if isDamage(err) { // the background work has found the damage
				return err, nil
			}
			return nil, err
		}
	}
	return nil, nil
}

// settle waits until a failed store changes no files any more.
func settle(s *Store) {
	s.stopMaintenance()
	waitForReleases(s)
}

// unclear returns an error that says why the text of err is not clear; nil if it is clear.
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

// harm is a way to damage a file. The function apply gets the file's content, an earlier content (nil if there is
// none) and the content of another file of the same kind. It returns the damaged content, or nil if the file can't
// be damaged in this way.
type harm struct {
	name  string
	apply func(r *rand.Rand, content, staleContent, otherContent []byte) []byte
}

// flipAt returns a function apply for a harm. It flips a bit in the byte at offset(r, n) of a file with n bytes.
func flipAt(offset func(r *rand.Rand, n int) int) func(*rand.Rand, []byte, []byte, []byte) []byte {
	return func(r *rand.Rand, content, _, _ []byte) []byte {
		if len(content) == 0 {
			return nil
		}
		b := bytes.Clone(content)
		b[min(max(offset(r, len(b)), 0), len(b)-1)] ^= 1 << r.IntN(8)
		return b
	}
}

// cutTo returns the apply of a harm that cuts a file of n bytes to length(r, n) bytes.
func cutTo(length func(r *rand.Rand, n int) int) func(*rand.Rand, []byte, []byte, []byte) []byte {
	return func(r *rand.Rand, content, _, _ []byte) []byte {
		return append([]byte{}, content[:max(length(r, len(content)), 0)]...) // an empty slice, not nil
	}
}

// anywhere returns a random offset in a file of n bytes.
func anywhere(r *rand.Rand, n int) int { return r.IntN(n) }

// flipInUse is a function apply for a harm. It flips a bit before the zeros at the end of the file.
func flipInUse(r *rand.Rand, content, _, _ []byte) []byte {
	used := len(bytes.TrimRight(content, "\x00"))
	if used == 0 {
		return nil
	}
	b := bytes.Clone(content)
	b[r.IntN(used)] ^= 1 << r.IntN(8)
	return b
}

var harms = []harm{
	{"flip the first byte", flipAt(func(*rand.Rand, int) int { return 0 })},
	{"flip byte 5", flipAt(func(*rand.Rand, int) int { return 5 })},
	{"flip in the header", flipAt(func(r *rand.Rand, _ int) int { return r.IntN(64) })},
	{"flip in the middle", flipAt(func(_ *rand.Rand, n int) int { return n / 2 })},
	{"flip anywhere", flipAt(anywhere)},
	{"flip before the zeros at the end", flipInUse},
	{"flip before the zeros at the end, again", flipInUse},
	{"flip near the end", flipAt(func(r *rand.Rand, n int) int { return n - 1 - r.IntN(40) })},
	{"flip the last byte", flipAt(func(_ *rand.Rand, n int) int { return n - 1 })},
	{"cut to nothing", cutTo(func(*rand.Rand, int) int { return 0 })},
	{"cut to 10 bytes", cutTo(func(_ *rand.Rand, n int) int { return min(n, 10) })},
	{"cut in half", cutTo(func(_ *rand.Rand, n int) int { return n / 2 })},
	{"cut anywhere", cutTo(func(r *rand.Rand, n int) int { return r.IntN(n + 1) })},
	{"cut off the last byte", cutTo(func(_ *rand.Rand, n int) int { return n - 1 })},
	{"zero it", func(_ *rand.Rand, content, _, _ []byte) []byte { return make([]byte, len(content)) }},
	{"zero a page", func(r *rand.Rand, content, _, _ []byte) []byte {
		b := bytes.Clone(content)
		page := r.IntN(len(b)/4096+1) * 4096
		clear(b[page:min(page+4096, len(b))])
		return b
	}},
	{"append garbage", func(r *rand.Rand, content, _, _ []byte) []byte {
		return append(bytes.Clone(content), byte(r.Uint32()|1), byte(r.Uint32()), byte(r.Uint32()), 0, 0, 0, 1, 2, 3)
	}},
	{"a stale copy", func(_ *rand.Rand, _, staleContent, _ []byte) []byte { return staleContent }},
	{"another file of the kind", func(_ *rand.Rand, _, _, otherContent []byte) []byte { return otherContent }},
}

// fileKind returns a file's extension, or its name if it has none.
func fileKind(name string) string {
	if ext := filepath.Ext(name); ext != "" {
		return ext
	}
	kind, _, _ := strings.Cut(filepath.Base(name), "-") // names like segment-1 and spare-2 differ in their numbers
	return kind
}

// otherOfKind returns the name of another file of the same kind; empty if there is none.
func otherOfKind(names []string, name string) string {
	for _, n := range names {
		if n != name && fileKind(n) == fileKind(name) {
			return n
		}
	}
	return ""
}

// chooseFiles returns at most two names of each kind of file: the last one and a random other one.
func chooseFiles(r *rand.Rand, names []string) (chosen []string) {
	byKind := make(map[string][]string)
	for _, n := range names {
		byKind[fileKind(n)] = append(byKind[fileKind(n)], n)
	}
	for _, namesOfKind := range byKind {
		if k := len(namesOfKind); k > 2 {
			namesOfKind = []string{namesOfKind[r.IntN(k-1)], namesOfKind[k-1]}
		}
		chosen = append(chosen, namesOfKind...)
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
	randomSeed, soak := testseed.Seed(t), os.Getenv(testseed.SoakVariable) != ""
	for _, isClosed := range []bool{false, true} {
		sp := newSpecimen(t, randomSeed, 800, isClosed)
		r := rand.New(rand.NewPCG(randomSeed, 3))
		refusals := make(map[string]int)
		names := files(t, sp.dir)
		for _, name := range chooseFiles(r, names) {
			for _, h := range harms {
				if isClosed && r.IntN(3) > 0 || !soak && r.IntN(2) > 0 || testing.Short() && r.IntN(8) > 0 {
					continue // other runs, or the store that was killed, cover this harm
				}
				sp.tryHarm(t, r, h, names, name, refusals)
			}
		}
		t.Logf("closed %v: refused %v", isClosed, refusals)
	}
}

// tryHarm damages one file in a copy of the specimen. It checks that the damage is detected or does no harm, and counts the
// refusals by kind of file.
func (sp *specimen) tryHarm(t *testing.T, r *rand.Rand, h harm, names []string, name string, refusals map[string]int) {
	t.Helper()
	content := readFile(t, filepath.Join(sp.dir, name))
	staleContent := readFile(t, filepath.Join(sp.staleDir, name))
	var otherContent []byte
	if o := otherOfKind(names, name); o != "" {
		otherContent = readFile(t, filepath.Join(sp.dir, o))
	}
	damaged := h.apply(r, content, staleContent, otherContent)
	if damaged == nil || bytes.Equal(damaged, content) {
		return
	}
	dir := sp.copy(t)
	defer dropTree(t, dir)
	if err := os.WriteFile(filepath.Join(dir, name), damaged, 0o600); err != nil {
		t.Fatal(err)
	}
	refusal, fault := sp.tryOpening(dir)
	if fault != nil {
		t.Errorf("%s: %s: %v", name, h.name, fault)
	}
	if refusal != nil {
		refusals[fileKind(name)]++
	}
}

// copy makes a copy of the specimen in a new directory, in memory if the system has such a file system. The tests open
// hundreds of copies and need no real syncs.
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
	sp := newSpecimen(t, testseed.Seed(t), 300, false)
	inspection, err := badgerfile.Examine(filepath.Join(sp.dir, storeName))
	if err != nil {
		t.Fatal(err)
	}
	names := files(t, sp.dir)
	lastSegment, refusedTables := filepath.Base(segments(t, sp.dir)[0]), 0
	if testing.Short() { // in each case the race detector sees the same goroutines
		names = chooseFiles(rand.New(rand.NewPCG(testseed.Seed(t), 5)), names)
	}
	for _, name := range names {
		dir := sp.copy(t)
		remove(t, filepath.Join(dir, name))
		refusal, fault := sp.tryOpening(dir)
		if fault != nil {
			t.Errorf("%s: %v", name, fault)
		}
		id, isTable := badgerfile.TableID(filepath.Base(name))
		_, isListed := inspection.Tables[id]
		isListedTable := isTable && isListed
		if isListedTable && refusal != nil {
			refusedTables++ // without one of the other tables Open succeeds, because the log still has their rows
		}
		if (fileKind(name) == "MANIFEST" || filepath.Base(name) == lastSegment) && refusal == nil {
			t.Errorf("%s is missing, and the store opened", name)
		}
		dropTree(t, dir)
	}
	if refusedTables == 0 && !testing.Short() {
		t.Error("no missing table was detected")
	}
}

// Files that were deleted long ago may reappear if somebody copies a backup over the directory, or restores an
// older state of the file system.
func TestReappearingFilesAreHarmless(t *testing.T) {
	sp := newSpecimen(t, testseed.Seed(t), 600, false)
	dir := sp.copy(t)
	defer dropTree(t, dir)
	var reappearedFiles []string
	presentFiles := files(t, sp.dir)
	for _, name := range files(t, sp.staleDir) {
		if slices.Contains(presentFiles, name) {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), readFile(t, filepath.Join(sp.staleDir, name)), 0o600); err != nil {
			t.Fatal(err)
		}
		reappearedFiles = append(reappearedFiles, name)
	}
	if len(reappearedFiles) == 0 {
		t.Fatal("there is no file that was deleted since")
	}
	if refusal, fault := sp.tryOpening(dir); refusal != nil || fault != nil {
		t.Errorf("with %v back: %v, %v", reappearedFiles, refusal, fault)
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
	if err := os.Truncate(segments(t, dir)[0], 100); err != nil {
		t.Fatal(err)
	}
	wantRefused("the store is gone and the log is damaged")
}

// segments returns the paths of the log's segments, the last one first.
func segments(t testing.TB, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, logName, "segment-*"))
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	slices.Reverse(paths)
	return paths
}

// TestSoakDamage damages small stores for the duration in MIZAN_SOAK. Each time it flips one bit, anywhere in any file.
func TestSoakDamage(t *testing.T) {
	duration := testseed.SoakTime(t)
	start, randomSeed := time.Now(), testseed.Seed(t)
	r := rand.New(rand.NewPCG(randomSeed, 4))
	flips := 0
	for time.Since(start) < duration {
		sp := newSpecimen(t, r.Uint64(), []uint64{3, 3, 40, 400}[r.IntN(4)], r.IntN(2) == 0)
		for _, name := range files(t, sp.dir) {
			content := readFile(t, filepath.Join(sp.dir, name))
			used := len(bytes.TrimRight(content, "\x00")) + 64
			for at := r.IntN(1 + used/2000); at < min(used, len(content)) && time.Since(start) < duration; at += 1 + used/2000 {
				flip := harm{fmt.Sprintf("flip a bit of byte %d", at), flipAt(func(*rand.Rand, int) int { return at })}
				sp.tryHarm(t, r, flip, nil, name, make(map[string]int))
				flips++
			}
		}
	}
	t.Logf("%d bytes were tried", flips)
}
