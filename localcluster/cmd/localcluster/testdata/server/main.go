// SPDX-License-Identifier: Apache-2.0

// Command server is the program of the test's pods: it prints the signals that it gets, and ends a second after the
// first. With arguments, it prints them and ends.
package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) > 1 {
		fmt.Println(strings.Join(os.Args[1:], " "))
		return
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	go func() {
		fmt.Println(http.ListenAndServe(":8080", http.NotFoundHandler()))
	}()
	fmt.Println("serving")
	<-signals
	fmt.Println("asked to end")
	windsUp := time.NewTimer(time.Second)
	select {
	case <-windsUp.C:
		fmt.Println("ended")
	case <-signals:
		fmt.Println("asked to end again")
	}
}
