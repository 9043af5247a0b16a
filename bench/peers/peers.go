// SPDX-License-Identifier: Apache-2.0

// The rows of bench/peers.c and bench/vthread.c in Go: `peers ROW OPERATIONS CPU..` prints
// nanoseconds per operation, or an object with its other counts.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

const parked, million = 4096, 1000000

// cpu is the CPU time of the process in nanoseconds.
func cpu() int64 {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		panic("getrusage")
	}
	return used.Utime.Nano() + used.Stime.Nano()
}

// alone gives the goroutine a thread of its own, and that a CPU of its own where there is one.
func alone(index int) {
	runtime.LockOSThread()
	if len(os.Args) <= 3+index {
		return
	}
	number, err := strconv.Atoi(os.Args[3+index])
	if err != nil {
		panic(err)
	}
	var set [16]uint64
	set[number/64] |= 1 << (number % 64)
	syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(set),
		uintptr(unsafe.Pointer(&set)))
}

// turns hands a turn to and fro between two goroutines, each on a thread of its own if far.
func turns(ops int, far bool) float64 {
	there, back := make(chan struct{}), make(chan struct{})
	ended := make(chan int64)
	go func() {
		if far {
			alone(1)
		}
		for k := 0; k < ops; k++ {
			<-there
			back <- struct{}{}
		}
	}()
	go func() {
		if far {
			alone(0)
		}
		start := time.Now()
		for k := 0; k < ops; k++ {
			there <- struct{}{}
			<-back
		}
		ended <- int64(time.Since(start))
	}()
	return float64(<-ended) / float64(ops)
}

// tasks starts half of them from each of two goroutines; they end at once.
func tasks(ops int) float64 {
	var all sync.WaitGroup
	all.Add(ops)
	start := cpu()
	for half := 0; half < 2; half++ {
		go func() {
			for k := 0; k < ops/2; k++ {
				go all.Done()
			}
		}()
	}
	all.Wait()
	return float64(cpu()-start) / float64(ops)
}

// wake resumes all parked goroutines, and again when all have run.
func wake(ops int) float64 {
	var ran atomic.Int64
	round := make(chan struct{})
	gates := make([]chan struct{}, parked)
	for k := range gates {
		gates[k] = make(chan struct{}, 1)
		go func(gate chan struct{}) {
			for range gate {
				if ran.Add(1)%parked == 0 {
					round <- struct{}{}
				}
			}
		}(gates[k])
	}
	start := cpu()
	for k := 0; k < ops/parked; k++ {
		for _, gate := range gates {
			gate <- struct{}{}
		}
		<-round
	}
	return float64(cpu()-start) / float64(ops/parked*parked)
}

// one does it on one processor, by CPU time, as bench/vthread.c does.
func one(ops int, work func()) float64 {
	runtime.GOMAXPROCS(1)
	start := cpu()
	work()
	return float64(cpu()-start) / float64(ops)
}

// yields has two goroutines make way for each other.
func yields(ops int) {
	var all sync.WaitGroup
	all.Add(2)
	for half := 0; half < 2; half++ {
		go func() {
			for k := 0; k < ops/2; k++ {
				runtime.Gosched()
			}
			all.Done()
		}()
	}
	all.Wait()
}

// joins starts goroutines and waits for the end of each.
func joins(ops int) {
	ended := make(chan struct{})
	for k := 0; k < ops; k++ {
		go func() { ended <- struct{}{} }()
		<-ended
	}
}

// timers arms one timer and stops it, among a million that are armed.
func timers(ops int) float64 {
	for k := 0; k < million; k++ {
		time.AfterFunc(time.Hour+time.Duration(k*7919%million)*time.Millisecond, func() {})
	}
	one := time.AfterFunc(time.Hour, func() {})
	start := cpu()
	for k := 0; k < ops; k++ {
		one.Reset(time.Hour + time.Duration(k*7919%million)*time.Millisecond)
		one.Stop()
	}
	return float64(cpu()-start) / float64(ops)
}

func main() {
	runtime.GOMAXPROCS(2)
	ops, err := strconv.Atoi(os.Args[2])
	if err != nil {
		panic(err)
	}
	ns := map[string]func() float64{
		"peers_near":   func() float64 { return turns(ops, false) },
		"peers_far":    func() float64 { return turns(ops, true) },
		"peers_tasks":  func() float64 { return tasks(ops) },
		"peers_wake":   func() float64 { return wake(ops) },
		"peers_timers": func() float64 { return timers(ops) },

		"vthread_yield": func() float64 { return one(ops, func() { yields(ops) }) },
		"vthread_turns": func() float64 { return one(ops, func() { turns(ops, false) }) },
		"vthread_join":  func() float64 { return one(ops, func() { joins(ops) }) },
		"vthread_many":  func() float64 { return tasks(ops) / 2 },
		"vthread_wake":  func() float64 { runtime.GOMAXPROCS(1); return wake(ops) },

		"channel_hand":  func() float64 { return one(ops, func() { pass(ops, 0) }) },
		"channel_slots": func() float64 { return one(ops, func() { pass(ops, many) }) },
		"channel_far":   func() float64 { return far(ops, many) },
		"mutex_free":    func() float64 { return one(ops, func() { contend(ops, 1, func() {}) }) },
		"mutex_one":     func() float64 { return one(ops, func() { contend(ops, many, runtime.Gosched) }) },
		"mutex_two":     func() float64 { return contendFar(ops) },

		"shapes_hash_1":    func() float64 { return hash(ops, 1) },
		"shapes_hash_3":    func() float64 { return hash(ops, 3) },
		"shapes_executes":  func() float64 { return executes(ops) },
		"shapes_nest_1k":   func() float64 { return nest(ops, 1000) },
		"shapes_nest_100k": func() float64 { return nest(ops, 100000) },
	}[os.Args[1]]
	if os.Args[1] == "vthread_memory" {
		ns, bytes := memory(ops)
		fmt.Printf("{\"ns\": %g, \"bytes\": %g}\n", ns, bytes)
		return
	}
	if os.Args[1] == "shapes_answer" {
		answer(ops / 10) // once to warm up
		said, err := json.Marshal(answer(ops))
		if err != nil {
			panic(err)
		}
		fmt.Println(string(said))
		return
	}
	long := map[string]bool{"peers_tasks": true, "peers_timers": true, "vthread_many": true}
	if !long[os.Args[1]] { // once to warm up; these last long enough
		ns()
	}
	fmt.Println(ns())
}
