package manifest

import (
	"os"
	"syscall"
	"unsafe"
)

// reserved is how much address space is set aside for an input whose size is
// not known; memory is used only as far as the input reaches. It is no constant
// of type int because that would not compile where an int has 32 bits.
var reserved int64 = 4 << 30

// region is the memory that reserve has returned.
var region []byte

// reserve returns memory outside the Go heap, once; nil if the system refuses.
func reserve() []byte {
	if region == nil && unsafe.Sizeof(uintptr(0)) >= 8 {
		region = mapped(int(reserved))
		return region
	}
	return nil
}

// release returns the pages of a reserved region behind the input.
func release(rest []byte) {
	if region == nil ||
		len(rest) == 0 ||
		&rest[len(rest)-1] != &region[len(region)-1] {
		return
	}
	page := os.Getpagesize()
	from := (len(region) - len(rest) + page - 1) / page * page
	if from < len(region) {
		// munmap of a part: the address space is not needed any more.
		at := uintptr(unsafe.Pointer(&region[from]))
		length := uintptr(len(region) - from)
		_, _, _ = syscall.Syscall(syscall.SYS_MUNMAP, at, length, 0)
		region = region[:from:from]
	}
}

// widestPipe is how many bytes a pipe may hold without privileges
// (/proc/sys/fs/pipe-max-size), and setPipeSize is F_SETPIPE_SZ of
// linux/fcntl.h, which package syscall lacks.
const (
	widestPipe  = 1 << 20
	setPipeSize = 1031
)

// widenPipe enlarges a pipe, so that the processes at its ends seldom wait for
// each other: waking a process costs more than copying what it waits for.
func widenPipe(end any) {
	f, _ := end.(*os.File)
	if raw, err := f.SyscallConn(); err == nil {
		// If the file is no pipe, or the system refuses, nothing changes.
		_ = raw.Control(func(fd uintptr) {
			_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setPipeSize, widestPipe)
		})
	}
}

// giveBack returns memory outside of the heap to the system: it holds zeros then.
func giveBack(b []byte) {
	_ = syscall.Madvise(b, syscall.MADV_DONTNEED)
}

// mapped returns memory for n bytes outside the Go heap, at the start of a huge
// page, which is never given back; nil if the process is not ours or the system
// refuses. A rest that is much smaller than a huge page is on small ones: they
// take no memory that nothing is written to.
func mapped(n int) []byte {
	if !ownsProcess {
		return nil
	}
	huge := (n + hugePage*3/4) &^ (hugePage - 1)
	n = (n + hugePage - 1) &^ (hugePage - 1)
	const protection = syscall.PROT_READ | syscall.PROT_WRITE
	const flags = syscall.MAP_ANON | syscall.MAP_PRIVATE | syscall.MAP_NORESERVE
	b, err := syscall.Mmap(-1, 0, n+hugePage, protection, flags)
	if err != nil {
		return nil
	}
	start := -int(uintptr(unsafe.Pointer(&b[0]))) & (hugePage - 1)
	b = b[start : start+n : start+n]
	// There may be none, which is no error.
	_ = syscall.Madvise(b[:huge], syscall.MADV_HUGEPAGE)
	return b
}
