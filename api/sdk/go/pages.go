package mizan

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"net/url"
)

// Page is a page of a list: some of its rows.
type Page[T any] struct {
	Data []T
	Next string // the cursor of the next page; empty on the last page
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

// allPages iterates over all rows of a list. It reads each page when the caller asks for the page's first row. After an error
// there are no more rows.
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
