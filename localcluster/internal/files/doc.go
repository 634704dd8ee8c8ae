// SPDX-License-Identifier: Apache-2.0

// Package files replaces files as a whole and locks directories.
package files
