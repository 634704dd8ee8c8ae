// SPDX-License-Identifier: Apache-2.0

// Package progress tells a waiting person what the launcher does, and what it waits for.
package progress
