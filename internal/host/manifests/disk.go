// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// disk changes files. Each change is on disk before the method returns.
type disk struct {
	// before is called before each change, and can prevent it with an error. It may be nil.
	before func(what string) error
	// flush writes a file to disk; nil stands for [os.File.Sync].
	flush func(*os.File) error
}

func (d disk) flushed(file *os.File) error {
	if d.flush != nil {
		return d.flush(file)
	}
	return file.Sync()
}

func (d disk) change(what string, f func() error) error {
	if d.before != nil {
		if err := d.before(what); err != nil {
			return err
		}
	}
	return f()
}

// move renames a file into another folder of the same file system. It fails if the folder has a file with that name.
func (d disk) move(file, from, to string) error {
	err := d.change("rename "+file, func() error {
		return unix.Renameat2(unix.AT_FDCWD, filepath.Join(from, file), unix.AT_FDCWD, filepath.Join(to, file), unix.RENAME_NOREPLACE)
	})
	if err != nil {
		return fmt.Errorf("move %s from %s to %s: %w", file, from, to, err)
	}
	return errors.Join(d.sync(to), d.sync(from))
}

// replace writes a file. At each moment, the file has the old or the new content.
func (d disk) replace(path string, content []byte) error {
	temporary := path + ".new"
	err := d.write(temporary, content)
	if err == nil {
		err = d.change("replace "+filepath.Base(path), func() error { return os.Rename(temporary, path) })
	}
	if err != nil {
		_ = os.Remove(temporary) // an incomplete file harms nothing
		return fmt.Errorf("write %s: %w", path, cause(err))
	}
	return d.sync(filepath.Dir(path))
}

func (d disk) write(path string, content []byte) error {
	var file *os.File
	err := d.change("create "+filepath.Base(path), func() (err error) {
		file, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
		return err
	})
	if err != nil {
		return err
	}
	err = d.change("write "+filepath.Base(path), func() error {
		_, err := file.Write(content)
		return err
	})
	if err == nil {
		err = d.change("sync "+filepath.Base(path), func() error { return d.flushed(file) })
	}
	return errors.Join(err, file.Close())
}

// folder makes a folder, unless it exists.
func (d disk) folder(path string) error {
	err := d.change("mkdir "+filepath.Base(path), func() error { return os.Mkdir(path, 0o700) })
	switch {
	case errors.Is(err, os.ErrExist):
		return nil
	case err != nil:
		return fmt.Errorf("make folder %s: %w", path, cause(err))
	}
	return d.sync(filepath.Dir(path))
}

// sync writes the entries of a folder to disk.
func (d disk) sync(path string) error {
	err := d.change("sync "+filepath.Base(path), func() error {
		folder, err := os.Open(path)
		if err != nil {
			return err
		}
		return errors.Join(d.flushed(folder), folder.Close())
	})
	if err != nil {
		return fmt.Errorf("sync folder %s: %w", path, cause(err))
	}
	return nil
}

// cause returns an error without its path, which the message already has.
func cause(err error) error {
	if pathError, is := errors.AsType[*os.PathError](err); is {
		return pathError.Err
	}
	return err
}
