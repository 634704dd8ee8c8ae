// SPDX-License-Identifier: Apache-2.0

// Command generate writes the pages of docs/reference that are made of the source.
package main
