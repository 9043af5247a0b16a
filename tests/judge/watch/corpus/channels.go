// SPDX-License-Identifier: Apache-2.0
// channels.go - goroutines pass items along channels each 5 ms.
//
// Class      healthy
package main

import "time"

func main() {
	items := make(chan int)
	for worker := 0; worker < 8; worker++ {
		go func() {
			for range items {
				time.Sleep(5 * time.Millisecond)
			}
		}()
	}
	for item := 0; ; item++ {
		items <- item
	}
}
