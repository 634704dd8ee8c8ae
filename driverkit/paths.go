// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"strings"
)

// maxSocketPath is the longest path of a unix socket: 108 bytes with the final zero, and
// one less for the dot of the temporary name of a new socket.
const maxSocketPath = 106

// socketPaths are the paths of a driver's sockets.
type socketPaths struct {
	driver       string
	registration string
	// ofInstances are the paths of the sockets of all instances: the last element of each
	// is a pattern.
	ofInstances []string
}

func (c Config) socketPaths() (socketPaths, error) {
	suffix := ""
	if c.Instance != "" {
		suffix = "-" + c.Instance
	}
	name := escape(c.DriverName)

	// Each driver has separate folders: a pod that mounts only these cannot act as another driver. The agent compares the
	// name of the registration folder with the name of the driver, so the hash of a long name is no folder.
	driver := func(name, suffix string) string { return filepath.Join(c.DataDir, name, "slm"+suffix+".sock") }
	registration := func(name, suffix string) string { return filepath.Join(c.RegistrationDir, name, "reg"+suffix+".sock") }
	hashed := func(name, suffix string) string { return filepath.Join(c.RegistrationDir, name+suffix+"-reg.sock") }

	var paths socketPaths
	var err error
	if paths.driver, err = fit(driver, driver, name, suffix); err != nil {
		return paths, fmt.Errorf("DataDir (--datadir): %w", err)
	}
	if paths.registration, err = fit(registration, hashed, name, suffix); err != nil {
		return paths, fmt.Errorf("RegistrationDir (--plugin-registration-path): %w", err)
	}
	paths.ofInstances = []string{
		driver(name, ""), driver(name, "-*"), driver(hash(name), "*"),
		registration(name, ""), registration(name, "-*"), hashed(hash(name), "*"),
		hashed(name, ""), hashed(name, "-*"), // of earlier versions of the kit
	}
	return paths, nil
}

// fit returns a path that is short enough for a socket: with the plain names if possible,
// otherwise with hashes.
func fit(path, hashed func(name, suffix string) string, name, suffix string) (string, error) {
	readable := path(name, suffix)
	if len(readable) <= maxSocketPath {
		return readable, nil
	}
	short := hashed(hash(name), hash(suffix))
	if len(short) <= maxSocketPath {
		return short, nil
	}
	return "", fmt.Errorf("socket %s has a path of %d bytes, a unix socket may have %d: choose a directory that is %d bytes shorter",
		short, len(short), maxSocketPath, len(short)-maxSocketPath)
}

// escape turns a driver name into one path element. No driver name contains "~".
func escape(driverName string) string {
	return strings.ReplaceAll(driverName, "/", "~")
}

// hash is short and stable across restarts. The hash of an empty string is empty.
func hash(s string) string {
	if s == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:8])
}
