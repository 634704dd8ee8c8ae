// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"net/http"

	"k8s.io/client-go/rest"
)

// answers tells the eyes whether the server answers: a watch that cannot reconnect keeps
// that to itself.
type answers struct {
	http.RoundTripper
	eyes Eyes
}

// RoundTrip is that of the transport.
func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.RoundTripper.RoundTrip(request)
	switch {
	case err != nil && request.Context().Err() == nil:
		a.eyes.Lost(err)
	case err == nil && response.StatusCode < http.StatusInternalServerError && !refused(response.StatusCode):
		a.eyes.Found()
	}
	return response, err
}

// refused is an answer after which nothing can be seen either: rights may be withdrawn while
// something is watched.
func refused(code int) bool { return code == http.StatusUnauthorized || code == http.StatusForbidden }

// listening is a configuration whose requests tell the eyes whether they are answered.
func listening(config *rest.Config, eyes Eyes) *rest.Config {
	own := rest.CopyConfig(config)
	own.Wrap(func(transport http.RoundTripper) http.RoundTripper { return answers{transport, eyes} })
	return own
}
