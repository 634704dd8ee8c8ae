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
	if err != nil {
		return nil, fmt.Errorf("read what came with the message: %w", err)
	}
	if len(messages) != 1 {
		return nil, fmt.Errorf("read what came with the message: %d control messages, not one", len(messages))
	}
	descriptors, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, fmt.Errorf("read the file that came with the message: %w", err)
	}
	if len(descriptors) != 1 {
		for _, d := range descriptors {
			_ = unix.Close(d) // it is nobody's else
		}
		return nil, fmt.Errorf("%d files came with the message, not one", len(descriptors))
	}
	return os.NewFile(uintptr(descriptors[0]), "lock"), nil
}
