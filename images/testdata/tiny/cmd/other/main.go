// SPDX-License-Identifier: Apache-2.0

// Command other is there to be another.
package main

func main() { println("other") }
