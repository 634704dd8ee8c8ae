// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// RefusedError is an answer of the API server other than success.
type RefusedError struct {
	Method, Path string
	Code         int
	Message      string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("%s %s: %d: %s", e.Method, e.Path, e.Code, e.Message)
}

// IsNotFound reports whether the server says that there is no such object.
func IsNotFound(err error) bool { return hasCode(err, http.StatusNotFound) }

// IsConflict reports whether the server says that the object exists already.
func IsConflict(err error) bool { return hasCode(err, http.StatusConflict) }

// IsRefused reports whether the server answered at all, and said no.
func IsRefused(err error) bool {
	var refused *RefusedError
	return errors.As(err, &refused)
}

func hasCode(err error, code int) bool {
	var refused *RefusedError
	return errors.As(err, &refused) && refused.Code == code
}

func refusal(method, path string, response *http.Response) error {
	const enough = 64 << 10
	content, _ := io.ReadAll(io.LimitReader(response.Body, enough))
	var status struct {
		Message string `json:"message"`
	}
	message := string(content)
	if json.Unmarshal(content, &status) == nil && status.Message != "" {
		message = status.Message
	}
	return &RefusedError{Method: method, Path: path, Code: response.StatusCode, Message: message}
}
