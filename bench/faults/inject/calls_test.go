package inject

import "strings"

// calls lists every system call that the server makes, with those of the errors EIO, ENOSPC, EMFILE and ENOMEM that Linux may return
// from it on some file system or socket. Calls with none are there so that a new call is noticed.
var calls = map[string]string{
	// Files.
	"access": "EIO ENOMEM", "close": "EIO ENOSPC", "fallocate": "EIO ENOSPC", "fchmod": "EIO ENOMEM", "fchmodat": "EIO ENOMEM", "fchown": "EIO ENOMEM", "fcntl": "EMFILE",
	"fdatasync": "EIO ENOSPC", "flock": "EIO ENOMEM", "fstat": "EIO ENOMEM", "fsync": "EIO ENOSPC", "ftruncate": "EIO ENOSPC",
	"getdents64": "EIO ENOMEM", "linkat": "EIO ENOSPC ENOMEM", "lseek": "EIO", "mkdirat": "EIO ENOSPC ENOMEM",
	"newfstatat": "EIO ENOMEM", "openat": "EIO ENOSPC EMFILE ENOMEM", "pread64": "EIO ENOMEM", "pwrite64": "EIO ENOSPC ENOMEM",
	"read": "EIO ENOMEM", "readlinkat": "EIO ENOMEM", "renameat": "EIO ENOSPC ENOMEM", "renameat2": "EIO ENOSPC ENOMEM", "statfs": "EIO ENOMEM", "unlinkat": "EIO ENOSPC ENOMEM",
	"write": "EIO ENOSPC ENOMEM",
	// Sockets and events.
	"accept4": "EMFILE ENOMEM", "bind": "ENOMEM", "connect": "ENOMEM", "epoll_create1": "EMFILE ENOMEM", "epoll_ctl": "ENOSPC ENOMEM",
	"epoll_pwait": "", "eventfd2": "EMFILE ENOMEM", "getpeername": "ENOMEM", "getsockname": "ENOMEM", "getsockopt": "ENOMEM",
	"listen": "ENOMEM", "pipe2": "EMFILE", "recvfrom": "ENOMEM", "recvmsg": "ENOMEM", "sendmmsg": "ENOMEM", "sendmsg": "ENOMEM", "sendto": "ENOMEM", "setsockopt": "ENOMEM", "shutdown": "", "socket": "EMFILE ENOMEM", "writev": "EIO ENOSPC ENOMEM",
	// Memory and threads.
	"brk": "ENOMEM", "clone": "ENOMEM", "clone3": "ENOMEM", "execve": "EIO EMFILE ENOMEM", "futex": "ENOMEM", "madvise": "EIO ENOMEM", "mmap": "ENOMEM", "mprotect": "ENOMEM", "mremap": "ENOMEM",
	"msync": "EIO ENOSPC ENOMEM", "munmap": "ENOMEM", "sigaltstack": "ENOMEM",
	// What can't fail in these ways.
	"arch_prctl": "", "exit": "", "exit_group": "", "getpid": "", "getppid": "", "getrandom": "", "getrlimit": "", "gettid": "", "kill": "", "nanosleep": "", "poll": "", "ppoll": "", "prctl": "",
	"prlimit64": "", "restart_syscall": "", "rseq": "", "rt_sigaction": "", "rt_sigprocmask": "", "rt_sigreturn": "", "sched_getaffinity": "", "sched_yield": "",
	"set_robust_list": "", "set_tid_address": "", "tgkill": "", "timer_create": "", "timer_delete": "", "timer_settime": "", "uname": "",
	"clock_gettime": "", "clock_nanosleep": "", "getuid": "", "geteuid": "", "getgid": "", "getegid": "", "getcwd": "", "sysinfo": "",
}

// ofManyKinds are calls that are mostly about sockets. They are made to fail once more on the store's files only.
var ofManyKinds = map[string]bool{"close": true, "fcntl": true, "fstat": true, "mmap": true, "newfstatat": true, "openat": true, "read": true, "write": true}

// errorsOf lists the errors of a call.
func errorsOf(call string) []string { return strings.Fields(calls[call]) }
