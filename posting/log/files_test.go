package log

import (
	"mizan/internal/disk"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// BenchmarkSync writes blocks of 4 KiB one after the other, and makes each block durable. It does so in three files: one that
// was written before (as segments are), one that was only allocated, and a written one without the page cache.
func BenchmarkSync(b *testing.B) {
	const size = 64 << 20
	for _, c := range []struct {
		name      string
		isWritten bool
		flags     int
	}{
		{"written", true, 0},
		{"allocated", false, 0},
		{"written,O_DIRECT|O_DSYNC", true, unix.O_DIRECT | unix.O_DSYNC},
	} {
		b.Run(c.name, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), "file")
			makeFile(b, path, size, c.isWritten)
			f, err := os.OpenFile(path, os.O_RDWR|c.flags, 0)
			if err != nil {
				b.Skip("NOT TRIED: ", err)
			}
			defer f.Close()
			block := alignedBlock()
			for at := int64(0); b.Loop(); at = (at + blockSize) % size {
				block[0]++
				if _, err := f.WriteAt(block, at); err != nil {
					b.Fatal(err)
				}
				if c.flags == 0 {
					if err := unix.Fdatasync(int(f.Fd())); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func makeFile(b *testing.B, path string, size int64, isWritten bool) {
	b.Helper()
	dir := disk.Local(filepath.Dir(path))
	f, err := dir.Create(filepath.Base(path), size)
	if err == nil {
		err = f.Close()
	}
	if err == nil && !isWritten {
		if err = os.Truncate(path, 0); err == nil {
			var again *os.File
			if again, err = os.OpenFile(path, os.O_RDWR, 0); err == nil {
				err = unix.Fallocate(int(again.Fd()), 0, 0, size)
				_ = again.Sync()
				_ = again.Close()
			}
		}
	}
	if err != nil {
		b.Fatal(err)
	}
}

// alignedBlock returns a block at an address that O_DIRECT takes.
func alignedBlock() []byte {
	buf := make([]byte, 2*blockSize)
	offset := (blockSize - int(uintptr(unsafe.Pointer(&buf[0]))%blockSize)) % blockSize
	return buf[offset:][:blockSize]
}
