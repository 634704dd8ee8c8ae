// SPDX-License-Identifier: Apache-2.0

package podrun

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/kubeapi"
)

// token is a service account token and its life.
type token struct {
	value           string
	issued, expires time.Time
}

// renewal is when the kubelet would ask for the next one: after four fifths of
// the life.
func (t token) renewal() time.Time {
	return t.issued.Add(t.expires.Sub(t.issued) * 4 / 5)
}

type tokenRequest struct {
	APIVersion string             `json:"apiVersion"`
	Kind       string             `json:"kind"`
	Spec       tokenRequestSpec   `json:"spec"`
	Status     tokenRequestStatus `json:"status"`
}

type tokenRequestSpec struct {
	ExpirationSeconds int64       `json:"expirationSeconds"`
	BoundObjectRef    boundObject `json:"boundObjectRef"`
}

type boundObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
	UID        string `json:"uid"`
}

type tokenRequestStatus struct {
	Token               string    `json:"token"`
	ExpirationTimestamp time.Time `json:"expirationTimestamp"`
}

// requestToken asks for a token of the pod's service account that is bound to
// the pod: it names the pod and its node, and is worth nothing when the pod is
// gone.
func requestToken(ctx context.Context, api *kubeapi.Client, pod Pod, life time.Duration) (token, error) {
	issued := time.Now()
	request := tokenRequest{
		APIVersion: "authentication.k8s.io/v1",
		Kind:       "TokenRequest",
		Spec: tokenRequestSpec{
			ExpirationSeconds: int64(life.Seconds()),
			BoundObjectRef:    boundObject{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
		},
	}
	path := fmt.Sprintf("/api/v1/namespaces/%s/serviceaccounts/%s/token",
		url.PathEscape(pod.Namespace), url.PathEscape(pod.ServiceAccount))
	var answer tokenRequest
	if err := api.Create(ctx, path, request, &answer); err != nil {
		return token{}, fmt.Errorf("request a token for pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return token{value: answer.Status.Token, issued: issued, expires: answer.Status.ExpirationTimestamp}, nil
}
