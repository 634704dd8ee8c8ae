// SPDX-License-Identifier: Apache-2.0

// Command workload is what the pods of these tests run. It serves on port 8080, and
// writes what happens to it to a file of its pod's name in /story: one line each, with
// the time.
//
//	workload                  ends at once when it is asked to
//	workload -ends-in=3s      takes that long to end
//	workload -ends-with=PIPE  ends when somebody has written to that named pipe, and is asked to
//	workload -ignores         goes on, and says so, until it is killed
//	workload -scratch=FILE    writes the file, and reads it again when it is asked to end
//	workload hook 1s          writes that a hook has begun, and after that time that it has ended
package main

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "workload:", err)
		os.Exit(1)
	}
}

func run() error {
	endsIn := flag.Duration("ends-in", 0, "how long to take to end")
	endsWith := flag.String("ends-with", "", "a named pipe to wait for")
	ignores := flag.Bool("ignores", false, "do not end")
	scratch := flag.String("scratch", "", "a file to write")
	flag.Parse()
	if flag.Arg(0) == "hook" {
		return hook(flag.Arg(1))
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	if *scratch != "" {
		if err := os.WriteFile(*scratch, []byte("kept"), 0o600); err != nil {
			return err
		}
	}
	if err := note("started"); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- http.ListenAndServe(":8080", http.HandlerFunc(ready)) }()
	select {
	case err := <-failed:
		return err
	case <-asked:
	}
	if err := note("asked to end"); err != nil {
		return err
	}
	if *ignores {
		return goOn()
	}
	if *endsWith != "" { // opened, and read, when somebody has it open to write
		if _, err := os.ReadFile(*endsWith); err != nil {
			return err
		}
	}
	<-time.After(*endsIn)
	if *scratch != "" {
		content, err := os.ReadFile(*scratch)
		if err != nil {
			return err
		}
		if err := note("scratch " + string(content)); err != nil {
			return err
		}
	}
	return note("ended")
}

func ready(http.ResponseWriter, *http.Request) {}

// goOn ends when this process is killed.
func goOn() error {
	const often = 100 * time.Millisecond
	ticker := time.NewTicker(often)
	defer ticker.Stop()
	for range ticker.C {
		if err := note("alive"); err != nil {
			return err
		}
	}
	return nil
}

func hook(takes string) error {
	d, err := time.ParseDuration(takes)
	if err != nil {
		return err
	}
	if err := note("hook begun"); err != nil {
		return err
	}
	<-time.After(d)
	return note("hook ended")
}

func note(what string) error {
	pod, err := os.Hostname()
	if err != nil {
		return err
	}
	story, err := os.OpenFile(filepath.Join("/story", pod), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(story, time.Now().Format(time.RFC3339Nano), what); err != nil {
		return err
	}
	return story.Close()
}
