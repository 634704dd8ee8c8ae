// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// perPage is kubectl's own.
const perPage = 500

// list is a pointer to a kind of list.
type list[T any] interface {
	*T
	client.ObjectList
}

// pages reads a list page by page, so that no answer of a large cluster is too large. Each
// page is a list of its own: what is decoded into one that has items is mixed with them.
func pages[T any, L list[T]](ctx context.Context, reader client.Reader, take func(L), options ...client.ListOption) error {
	for next := ""; ; {
		page := L(new(T))
		all := append([]client.ListOption{client.Limit(perPage), client.Continue(next)}, options...)
		if err := reader.List(ctx, page, all...); err != nil {
			return err
		}
		take(page)
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}
