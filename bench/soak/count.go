// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// progressPeriod is how often it is said how far things are.
const progressPeriod = 2 * time.Second

// count tells when so many objects are as they should be, and says how many are.
type count struct {
	stage *stage
	what  string
	want  int
	are   map[string]bool
	told  time.Time
}

func (g *stage) count(what string, want int) *count {
	return &count{stage: g, what: what, want: want, are: map[string]bool{}, told: time.Now()}
}

// is notes whether an object is as it should be, and says whether enough of them are.
func (c *count) is(object metav1.Object, so bool) bool {
	key := object.GetNamespace() + "/" + object.GetName()
	delete(c.are, key)
	if so {
		c.are[key] = true
	}
	if done := len(c.are) >= c.want; done || time.Since(c.told) > progressPeriod {
		c.told = time.Now()
		c.stage.say("%d of %d %s", len(c.are), c.want, c.what)
	}
	return len(c.are) >= c.want
}
