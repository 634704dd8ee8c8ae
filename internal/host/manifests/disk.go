// SPDX-License-Identifier: Apache-2.0

package manifests

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// disk changes what is on the disk. Each of its methods is on the disk when it has returned.
type disk struct {
	// before is called before each change; an error keeps it from being made. Nil: nothing is
	// called.
	before func(what string) error
	// flush has a file on the disk. Nil: [os.File.Sync].
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

// move renames a file into another folder of the same file system, in which no file has that
// name.
func (d disk) move(file, from, to string) error {
	err := d.change("rename "+file, func() error {
		return unix.Renameat2(unix.AT_FDCWD, filepath.Join(from, file), unix.AT_FDCWD, filepath.Join(to, file), unix.RENAME_NOREPLACE)
	})
	if err != nil {
		return fmt.Errorf("move %s from %s to %s: %w", file, from, to, err)
	}
	return errors.Join(d.sync(to), d.sync(from))
}

// replace writes a file that is the old one or the new one, whenever it is looked at.
func (d disk) replace(path string, content []byte) error {
	temporary := path + ".new"
	err := d.write(temporary, content)
	if err == nil {
		err = d.change("replace "+filepath.Base(path), func() error { return os.Rename(temporary, path) })
	}
	if err != nil {
		_ = os.Remove(temporary) // it is in nobody's way
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

// folder makes a folder, if there is none.
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

// sync has what a folder lists on the disk.
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

// cause is an error without the path that is said already.
func cause(err error) error {
	if pathError, is := errors.AsType[*os.PathError](err); is {
		return pathError.Err
	}
	return err
}
