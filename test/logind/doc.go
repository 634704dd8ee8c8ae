// SPDX-License-Identifier: Apache-2.0

// Package logind is a stand-in for systemd-logind, on a separate D-Bus.
//
//	dbus-daemon, a process ◀── org.freedesktop.login1: Inhibit, the two properties, PrepareForShutdown
//	                       ◀── org.freedesktop.systemd1: SystemState
//
// It keeps logind's rules: no locks once a shutdown has begun, and the machine goes down when
// the last lock is closed, or when the delay is over.
package logind
