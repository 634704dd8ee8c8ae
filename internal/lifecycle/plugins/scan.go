// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// socketFile is a socket that was found. One that was made anew at the same path is
// another one: it has another inode, or (inodes are used again) another time.
type socketFile struct {
	path     string
	device   uint64
	inode    uint64
	modified time.Time
}

// scan finds the sockets in the directory and in its sub-directories, one level deep,
// without those whose name begins with a dot. It calls visit with each directory
// before it reads it: a watch that is set there misses nothing that the scan misses.
func scan(dir string, visit func(dir string)) (map[string]socketFile, error) {
	found := map[string]socketFile{}
	subdirs, err := scanOne(dir, visit, found)
	if err != nil {
		return nil, err
	}
	for _, subdir := range subdirs {
		if _, err := scanOne(subdir, visit, found); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return found, nil
}

func scanOne(dir string, visit func(dir string), found map[string]socketFile) (subdirs []string, err error) {
	visit(dir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read registration directory: %w", err)
	}
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch {
		case strings.HasPrefix(entry.Name(), "."):
		case entry.IsDir():
			subdirs = append(subdirs, path)
		case entry.Type()&fs.ModeSocket != 0:
			if socket, ok := identify(path, entry); ok {
				found[path] = socket
			}
		}
	}
	return subdirs, nil
}

// identify fails for a file that has gone meanwhile.
func identify(path string, entry fs.DirEntry) (socketFile, bool) {
	info, err := entry.Info()
	if err != nil {
		return socketFile{}, false
	}
	socket := socketFile{path: path, modified: info.ModTime()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		socket.device, socket.inode = uint64(stat.Dev), stat.Ino //nolint:unconvert // int32 on some platforms
	}
	return socket, true
}
