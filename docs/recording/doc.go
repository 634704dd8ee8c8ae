// SPDX-License-Identifier: Apache-2.0

// Command recording makes docs/recording.svg, the picture of a terminal in which a drain
// is blocked, explained and unblocked. What it shows has happened: it starts a local
// cluster, types the commands of the script into a shell on a pseudo-terminal, waits for
// what they answer, and draws every screen that there was. Only the time is edited: typing
// has the pace of a person, waiting is cut short, and what is to be read stands for a while.
//
// It is a Go module of its own, because nothing else needs a terminal.
package main
