// SPDX-License-Identifier: Apache-2.0

// Package loop runs a reconciler: controller-runtime's controller without a manager, on a queue that exists before the
// controller starts, so that informers that are started on demand can fill it.
//
//	informers, AddAt ──▶ queue ──▶ workers ──▶ reconciler ── error: again, with a backoff ──▶ queue
//
// A panic of the reconciler is an error of its key. [Watch] starts such informers.
package loop
