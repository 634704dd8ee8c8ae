// SPDX-License-Identifier: Apache-2.0

// Package logind speaks with systemd-logind over D-Bus. No other package does.
//
//	Inhibit ───────────────▶ a lock: a file that delays shutdowns while a process has it open
//	PrepareForShutdown ────▶ Preparing, Changed: a shutdown begins, or was canceled
//	InhibitDelayMaxUSec ───▶ DelayMax: how long locks may delay one
//	systemd: SystemState ──▶ Stopping: it is delayed no longer
//
// It decides nothing, and asks logind for no shutdown.
package logind
