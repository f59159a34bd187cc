package sidecar

import (
	"runtime"
	"sync"
)

// threads is how many threads the program starts with, beside those that the runtime has at its
// start. Under attack it has never used more than 7 in all: one has the processor, the others are
// in system calls.
const threads = 8

// StartThreads starts all threads that the program will need. To start one later is a fatal error
// of the runtime where the pod has no PIDs left, which an app's leak can use up. The runtime ends
// no thread that is idle.
func StartThreads() {
	var started, ended sync.WaitGroup
	started.Add(threads)
	for range threads {
		ended.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			started.Done()
			started.Wait() // a locked goroutine keeps its thread while it waits
		})
	}
	ended.Wait()
}
