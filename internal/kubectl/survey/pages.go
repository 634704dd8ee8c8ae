// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"math"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// perPage is kubectl's own.
	perPage = 500
	// maxPages is for what may be more than anybody wants to wait for.
	maxPages = 10
)

// list is a pointer to a kind of list.
type list[T any] interface {
	*T
	client.ObjectList
}

// pages reads a list page by page, so that no answer of a large cluster is too large. Each
// page is a list of its own: what is decoded into one that has items is mixed with them.
func pages[T any, L list[T]](ctx context.Context, reader client.Reader, take func(L), options ...client.ListOption) error {
	_, err := firstPages(ctx, reader, math.MaxInt, take, options...)
	return err
}

// firstPages is [pages] that ends after so many of them, and tells whether there are more.
func firstPages[T any, L list[T]](
	ctx context.Context, reader client.Reader, most int, take func(L), options ...client.ListOption,
) (left bool, err error) {
	next := ""
	for range most {
		page := L(new(T))
		all := append([]client.ListOption{client.Limit(perPage), client.Continue(next)}, options...)
		if err := reader.List(ctx, page, all...); err != nil {
			return false, err
		}
		take(page)
		if next = page.GetContinue(); next == "" {
			return false, nil
		}
	}
	return true, nil
}
