// SPDX-License-Identifier: Apache-2.0

// The proxy with net/http, server and client, as its own documentation writes them.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
)

func main() {
	port := flag.Int("port", 0, "")
	backend := flag.String("backend", "", "")
	flag.Parse()
	transport := &http.Transport{MaxIdleConns: 0, MaxIdleConnsPerHost: 1 << 20, DisableCompression: true}
	client := &http.Client{Transport: transport}
	url := "http://" + *backend + "/"
	http.HandleFunc("/", func(reply http.ResponseWriter, _ *http.Request) {
		answer, err := client.Get(url)
		if err != nil {
			http.Error(reply, err.Error(), http.StatusBadGateway)
			return
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil {
			http.Error(reply, err.Error(), http.StatusBadGateway)
			return
		}
		reply.Write(body)
	})
	listener, err := net.Listen("tcp4", fmt.Sprintf("127.0.0.1:%d", *port))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("listening on %s\n", listener.Addr())
	http.Serve(listener, nil)
}
