package mizan

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/url"
)

// Page is a part of a list.
type Page[T any] struct {
	Data []T
	Next string // the cursor of the next page; empty on the last one
}

// onePage reads a page.
func onePage[T any](ctx context.Context, c *Client, o *call, options []Option) (*Page[T], error) {
	body, err := single[struct {
		Data   []T `json:"data"`
		Cursor struct {
			Value string `json:"cursor_value"` // null on the last page
		} `json:"cursor"`
	}](ctx, c, o, options)
	if err != nil {
		return nil, err
	}
	return &Page[T]{Data: body.Data, Next: body.Cursor.Value}, nil
}

// allPages returns the rows of a list. It reads a page when the caller asks for its first row. After an error there are no more
// rows.
func allPages[T any](ctx context.Context, c *Client, o *call, options []Option) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		next := *o
		for {
			page, err := onePage[T](ctx, c, &next, options)
			if err != nil {
				yield(none, err)
				return
			}
			for _, row := range page.Data {
				if !yield(row, nil) {
					return
				}
			}
			if page.Next == "" {
				return
			}
			if page.Next == next.query.Get("cursor") {
				yield(none, fmt.Errorf("mizan: %s: two pages have the same cursor", o.path))
				return
			}
			query := url.Values{}
			maps.Copy(query, next.query)
			query.Set("cursor", page.Next)
			next.query = query
		}
	}
}
