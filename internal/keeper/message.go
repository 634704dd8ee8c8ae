// SPDX-License-Identifier: Apache-2.0

package keeper

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// send sends a message of one letter, with a file or without.
func send(conn *net.UnixConn, message byte, file *os.File) error {
	var rights []byte
	if file != nil {
		rights = unix.UnixRights(int(file.Fd()))
	}
	_, _, err := conn.WriteMsgUnix([]byte{message}, rights, nil)
	return err
}

// receive waits for a message. A file that came with it is the caller's.
func receive(conn *net.UnixConn) (message byte, file *os.File, err error) {
	letter, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, control, _, _, err := conn.ReadMsgUnix(letter, rights)
	if err != nil {
		return 0, nil, err
	}
	if n == 0 {
		return 0, nil, net.ErrClosed
	}
	if control == 0 {
		return letter[0], nil, nil
	}
	file, err = fileIn(rights[:control])
	return letter[0], file, err
}

func fileIn(rights []byte) (*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("read what came with the message: %d control messages, %w", len(messages), err)
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(descriptors) != 1 {
		return nil, fmt.Errorf("read what came with the message: %d files, %w", len(descriptors), err)
	}
	return os.NewFile(uintptr(descriptors[0]), "lock"), nil
}
