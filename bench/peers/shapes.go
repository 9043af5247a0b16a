// SPDX-License-Identifier: Apache-2.0

// The rows of bench/shapes.c in Go.
package main

import (
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const (
	hashers, hashed = 128, 4096
	each, sleep     = 5 * time.Microsecond, 100 * time.Microsecond
	busy, times     = 10 * time.Microsecond, 100
)

var hashes atomic.Uint64

// threadCpu is the CPU time of the calling thread in nanoseconds.
func threadCpu() int64 {
	var now syscall.Timespec
	const threadCpuTime = 3
	if _, _, code := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadCpuTime,
		uintptr(unsafe.Pointer(&now)), 0); code != 0 {
		panic(code)
	}
	return now.Nano()
}

func hashOne(bytes []byte) {
	hash := uint64(14695981039346656037)
	for _, one := range bytes {
		hash = (hash ^ uint64(one)) * 1099511628211
	}
	hashes.Add(hash)
}

// hash has submitters start 128 goroutines at a time.
func hash(ops int, submitters int) float64 {
	rounds := ops / (submitters * hashers)
	start := cpu()
	var all sync.WaitGroup
	all.Add(submitters)
	for k := 0; k < submitters; k++ {
		go func() {
			mine := make([]byte, hashers*hashed)
			for round := 0; round < rounds; round++ {
				var ended sync.WaitGroup
				ended.Add(hashers)
				for at := 0; at < hashers; at++ {
					go func() {
						hashOne(mine[at*hashed : (at+1)*hashed])
						ended.Done()
					}()
				}
				ended.Wait()
			}
			all.Done()
		}()
	}
	all.Wait()
	return float64(cpu()-start) / float64(rounds*submitters*hashers)
}

// answer starts a goroutine for each request of a producer that spins.
func answer(ops int) map[string]float64 {
	took := make([]float64, ops)
	var all sync.WaitGroup
	all.Add(ops)
	produced := make(chan int64)
	begun := cpu()
	go func() {
		runtime.LockOSThread()
		spun := threadCpu()
		next := time.Now()
		for k := 0; k < ops; k++ {
			next = next.Add(each)
			for time.Now().Before(next) {
			}
			go func(due time.Time) {
				time.Sleep(sleep)
				took[k] = float64(time.Since(due)) / 1e3
				all.Done()
			}(next)
		}
		produced <- threadCpu() - spun
	}()
	spun := <-produced
	all.Wait()
	ns := float64(cpu()-begun-spun) / float64(ops)
	sort.Float64s(took)
	return map[string]float64{"ns": ns, "p50": took[ops/2], "p90": took[ops*90/100],
		"p99": took[ops*99/100]}
}

// executes starts a goroutine, is busy, and starts another.
func executes(ops int) float64 {
	rounds := ops / (2 * times)
	ended := make(chan int64)
	start := cpu()
	go func() {
		var spun int64
		for round := 0; round < rounds; round++ {
			var all sync.WaitGroup
			all.Add(2 * times)
			for k := 0; k < 2*times; k++ {
				if k%2 != 0 {
					runtime.LockOSThread()
					begun := threadCpu()
					now := begun
					for now-begun < int64(busy) {
						now = threadCpu()
					}
					spun += now - begun
					runtime.UnlockOSThread()
				}
				go all.Done()
			}
			all.Wait()
		}
		ended <- spun
	}()
	spun := <-ended
	return float64(cpu()-start-spun) / float64(rounds*2*times)
}

func nests(left int, ended chan struct{}) {
	if left > 1 {
		go nests(left-1, ended)
	} else {
		ended <- struct{}{}
	}
}

// nest has each goroutine start the next one.
func nest(ops int, deep int) float64 {
	deep = min(deep, ops)
	ended := make(chan struct{})
	start := cpu()
	for chain := 0; chain < ops/deep; chain++ {
		go nests(deep, ended)
		<-ended
	}
	return float64(cpu()-start) / float64(ops/deep*deep)
}
