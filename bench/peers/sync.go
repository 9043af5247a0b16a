// SPDX-License-Identifier: Apache-2.0

// The rows of bench/sync.c in Go, and the memory of goroutines.
package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
)

const many = 64

// pass hands items from one goroutine to another.
func pass(ops int, slots int) {
	items := make(chan *int, slots)
	ended := make(chan struct{})
	go func() {
		for k := 0; k < ops; k++ {
			<-items
		}
		close(ended)
	}()
	go func() {
		for k := 0; k < ops; k++ {
			items <- &ops
		}
	}()
	<-ended
}

// far is pass on two processors, by CPU time.
func far(ops int, slots int) float64 {
	start := cpu()
	pass(ops, slots)
	return float64(cpu()-start) / float64(ops)
}

// contend has goroutines lock and unlock one mutex, hold in between.
func contend(ops int, goroutines int, hold func()) {
	var mutex sync.Mutex
	var all sync.WaitGroup
	held := 0
	all.Add(goroutines)
	for k := 0; k < goroutines; k++ {
		go func() {
			for k := 0; k < ops/goroutines; k++ {
				mutex.Lock()
				held++
				hold()
				mutex.Unlock()
			}
			all.Done()
		}()
	}
	all.Wait()
	if held != ops/goroutines*goroutines {
		panic("two goroutines had the mutex")
	}
}

// spin is the work of sync.c's locks_and_counts.
func spin() {
	for k := 0; k < 16; k++ {
		runtime.KeepAlive(k)
	}
}

// contendFar is contend on two processors, by CPU time.
func contendFar(ops int) float64 {
	start := cpu()
	contend(ops, many, spin)
	return float64(cpu()-start) / float64(ops/many*many)
}

// residentKb is the resident memory of the process.
func residentKb() float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		panic(err)
	}
	sum := 0.0
	for _, line := range strings.Split(string(status), "\n") {
		var kb float64
		if strings.HasPrefix(line, "VmRSS:") || strings.HasPrefix(line, "VmPTE:") {
			if _, err := fmt.Sscanf(line[6:], "%f", &kb); err != nil {
				panic(err)
			}
			sum += kb
		}
	}
	return sum
}

// memory starts goroutines that park, and reports the time and the memory of each.
func memory(ops int) (ns float64, bytes float64) {
	runtime.GOMAXPROCS(1)
	gate := make(chan struct{})
	var all sync.WaitGroup
	all.Add(ops)
	before, start := residentKb(), cpu()
	for k := 0; k < ops; k++ {
		go func() {
			all.Done()
			<-gate
		}()
	}
	all.Wait()
	runtime.Gosched()
	ns = float64(cpu()-start) / float64(ops)
	return ns, (residentKb() - before) * 1024 / float64(ops)
}
