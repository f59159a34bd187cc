// Package socket is TCP for connections that are over in a fraction of a
// millisecond: the kubelet's to us, and ours to an app in the same pod.
//
// On Linux it goes past the net package, which treats every connection as one
// that has to be waited for. Ours mostly need no waiting: a connection within
// the pod is there when connect(2) returns, and the kernel hands us one of
// the kubelet's with its request in it. So a system call is made first, and
// the runtime's poller is told of a socket only when one says EAGAIN.
//
// And the calls are made with syscall.RawSyscall, which is right for calls
// that never block. syscall.Syscall, which net uses, tells the runtime to
// expect blocking: the first one after a pause wakes the runtime's monitor
// thread (sysmon). That thread then looks about every 20 µs for a call that
// lasts, and finds one: the kernel runs the other end's half of TCP inside
// connect, write and close. With one processor (GOMAXPROCS 1) it gives the
// processor to another thread, and the caller's has to wait for it. Together
// that was a third of the CPU time of a TCP probe. Whoever makes many calls in a
// row makes the later ones with syscall.Syscall all the same, because it is
// the monitor thread that interrupts goroutines which never wait.
package socket

import "time"

// unwatched is how many system calls may be made without the runtime's
// monitor: more than any probe needs.
const unwatched = 64

// past is a deadline that ends all waiting.
var past = time.Unix(1, 0)
