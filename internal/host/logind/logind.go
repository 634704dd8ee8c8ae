// SPDX-License-Identifier: Apache-2.0

package logind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"
)

// DefaultBus is the socket of a machine's system bus.
const DefaultBus = "/run/dbus/system_bus_socket"

const (
	service    = "org.freedesktop.login1"
	object     = dbus.ObjectPath("/org/freedesktop/login1")
	manager    = service + ".Manager"
	preparing  = "PrepareForShutdown"
	inProgress = service + ".OperationInProgress"

	systemd        = "org.freedesktop.systemd1"
	systemdObject  = dbus.ObjectPath("/org/freedesktop/systemd1")
	systemdManager = systemd + ".Manager"

	signals = 16 // unread
)

// ErrInProgress means that a shutdown has begun, and that logind gives no new locks.
var ErrInProgress = errors.New("a shutdown has begun, so logind gives no new locks")

// Manager is logind.
type Manager struct {
	conn    *dbus.Conn
	object  dbus.BusObject
	signals chan *dbus.Signal
}

// Connect connects to the bus behind the socket at path, and listens for shutdowns.
func Connect(ctx context.Context, path string) (*Manager, error) {
	m, err := connect(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("connect to logind over %s: %w%s", path, err, turnedAway(err))
	}
	return m, nil
}

// turnedAway returns the remedy for a connection that the bus has ended.
func turnedAway(err error) string {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return fmt.Sprintf(" (the bus turns user %d away: dbus-daemon wants one that the machine knows, such as 65534)", os.Getuid())
	}
	return ""
}

func connect(ctx context.Context, path string) (*Manager, error) {
	conn, err := dbus.Connect("unix:path="+path, dbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	if !conn.SupportsUnixFDs() {
		return nil, errors.Join(errors.New("the bus hands on no files"), conn.Close())
	}
	m := &Manager{conn: conn, object: conn.Object(service, object), signals: make(chan *dbus.Signal, signals)}
	conn.Signal(m.signals)
	err = conn.AddMatchSignalContext(ctx,
		dbus.WithMatchSender(service), dbus.WithMatchObjectPath(object), dbus.WithMatchInterface(manager), dbus.WithMatchMember(preparing))
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return m, nil
}

// Close ends the connection. Locks stay while a process has their files open.
func (m *Manager) Close() error { return m.conn.Close() }

// Done is closed when the connection has ended.
func (m *Manager) Done() <-chan struct{} { return m.conn.Context().Done() }

// Changed receives when a shutdown begins, and when logind itself cancels one: then call [Manager.Preparing]. logind
// sends no signal when "shutdown -c" cancels a shutdown (since systemd 257), or when its own restart does. The channel
// is closed with the connection.
func (m *Manager) Changed() <-chan *dbus.Signal { return m.signals }

// Begins reports whether a signal of [Manager.Changed] announces a shutdown.
func Begins(signal *dbus.Signal) bool {
	if signal == nil || len(signal.Body) == 0 {
		return false
	}
	begins, _ := signal.Body[0].(bool)
	return begins
}

// Inhibit takes a lock that delays shutdowns while a process has the file open, at most for the maximum delay. During a
// shutdown, the error is [ErrInProgress].
func (m *Manager) Inhibit(ctx context.Context, who, why string) (*os.File, error) {
	var fd dbus.UnixFD
	err := m.object.CallWithContext(ctx, manager+".Inhibit", 0, "shutdown", who, why, "delay").Store(&fd)
	if err == nil {
		return os.NewFile(uintptr(fd), "inhibitor"), nil
	}
	var refused dbus.Error
	if errors.As(err, &refused) && refused.Name == inProgress {
		return nil, ErrInProgress
	}
	return nil, fmt.Errorf("take a lock of logind: %w%s", err, hint(refused))
}

// hint returns the remedy for a refusal.
func hint(refused dbus.Error) string {
	for _, denied := range []string{"AccessDenied", "InteractiveAuthorizationRequired"} {
		if strings.HasSuffix(refused.Name, "."+denied) {
			return " (without polkit on the machine, logind gives locks to root alone: run as user 0)"
		}
	}
	return ""
}

// Preparing reports whether a shutdown has begun.
func (m *Manager) Preparing(ctx context.Context) (is bool, err error) {
	return is, property(ctx, m.object, manager, "PreparingForShutdown", &is)
}

// Stopping reports whether systemd stops the machine. Then logind no longer waits for locks.
func (m *Manager) Stopping(ctx context.Context) (bool, error) {
	var state string
	err := property(ctx, m.conn.Object(systemd, systemdObject), systemdManager, "SystemState", &state)
	return state == "stopping", err
}

// DelayMax returns the maximum delay of a shutdown (InhibitDelayMaxSec in logind.conf), such as the longest Duration for
// "infinity".
func (m *Manager) DelayMax(ctx context.Context) (time.Duration, error) {
	var microseconds uint64
	err := property(ctx, m.object, manager, "InhibitDelayMaxUSec", &microseconds)
	if microseconds > math.MaxInt64/uint64(time.Microsecond) {
		return math.MaxInt64, err
	}
	return time.Duration(microseconds) * time.Microsecond, err
}

func property(ctx context.Context, of dbus.BusObject, kind, name string, into any) error {
	var value dbus.Variant
	err := of.CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, kind, name).Store(&value)
	if err == nil {
		err = value.Store(into)
	}
	if err != nil {
		return fmt.Errorf("read %s of %s: %w", name, of.Destination(), err)
	}
	return nil
}
