// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
)

// counted hands on what a drain does without the pods' names.
type counted struct{ observer Observer }

func observerOf(observer Observer) drain.Observer {
	if observer == nil {
		return nil
	}
	return counted{observer}
}

func (c counted) Evicted(types.NamespacedName) { c.observer.Evicted() }

func (c counted) Refused(_ types.NamespacedName, reason drain.Reason) {
	c.observer.Refused(string(reason))
}

func (c counted) EvictedAfter(_ types.NamespacedName, open time.Duration) {
	c.observer.EvictedAfter(open)
}
