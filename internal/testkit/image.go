package testkit

import (
	"bytes"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"mizan/internal/clock"
	"mizan/internal/secret"
	"mizan/posting/store"
)

const keyringFile = "keyring"

// Image is a copy of a world's directory. A test process can fill a store once, make an image of it, and create any number of
// worlds from the image.
type Image struct {
	clockTime time.Time // time that the world's clock showed
	files     []imageFile
}

type imageFile struct {
	name    string // path of the file in the world's directory
	content []byte // content of the file, without the zero bytes at its end
	size    int64
}

// Image copies the files of a world that is idle or closed. If the world is open, the files in the image are like after a kill
// of the process.
func (w *World) Image() *Image {
	w.tb.Helper()
	i, err := imageOf(w.Dir)
	if err != nil {
		w.tb.Fatal(err)
	}
	i.clockTime = w.Clock.Now()
	return i
}

// World makes a new world with the files, the keyring and the time of the image. The caller must open the world.
func (i *Image) World(tb testing.TB) *World {
	tb.Helper()
	w := i.newWorld(tb, i.clockTime)
	var err error
	if w.Keyring, err = secret.LoadKeyring(filepath.Join(w.Dir, keyringFile)); err != nil {
		tb.Fatal(err)
	}
	w.setOptions()
	return w
}

func imageOf(dir string) (*Image, error) {
	i := new(Image)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		i.files = append(i.files, imageFile{name, bytes.TrimRight(content, "\x00"), int64(len(content))})
		return err
	})
	return i, err
}

// newWorld writes the image's files into a new directory and returns a world in this directory. It does not set the field
// Keyring.
func (i *Image) newWorld(tb testing.TB, clockTime time.Time) *World {
	tb.Helper()
	w := &World{Dir: filepath.Join(tb.TempDir(), "world"), Clock: clock.NewManual(clockTime), tb: tb}
	for _, f := range i.files {
		path := filepath.Join(w.Dir, f.name)
		for _, err := range []error{os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, f.content, 0o600), os.Truncate(path, f.size)} {
			if err != nil {
				tb.Fatal(err)
			}
		}
	}
	tb.Cleanup(w.Close)
	return w
}

// emptyStore is the image of a store without content. To copy the image and open the store takes half the time of creating a
// store.
var emptyStore struct {
	once  sync.Once
	image *Image
	err   error
}

func newStoreImage() (*Image, error) {
	dir, err := os.MkdirTemp("", "mizan-testkit-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := store.Open(store.Options{Dir: dir, MemTable: worldMemTable, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return imageOf(dir)
}
