// SPDX-License-Identifier: Apache-2.0

// Command tiny prints the permissions of its process, and its view of the file system.
package main

import (
	"fmt"
	"os"
)

func main() {
	entries, err := os.ReadDir("/")
	fmt.Println("uid", os.Getuid(), "gid", os.Getgid(), "args", os.Args[1:])
	fmt.Println("sees", entries, err)
	fmt.Println("writes", os.WriteFile("/tiny", nil, 0o600))
}
