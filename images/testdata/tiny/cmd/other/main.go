// SPDX-License-Identifier: Apache-2.0

// Command other is a second program for tests.
package main

func main() { println("other") }
