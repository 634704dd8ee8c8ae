// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// Request is one request to the API server that was answered.
type Request struct {
	ID string
	// Began is the time at which the server received the request, and Ended the time of its answer. A watch ends with
	// its connection.
	Began, Ended time.Time
	// Verb is get, list, watch, create, update, patch, delete or deletecollection.
	Verb string
	URI  string
	// User made the request; Impersonated is the user that it impersonated, if any.
	User, Impersonated string
	// TokenNode is the node of the pod to which the user's token is bound, if it is.
	TokenNode string
	UserAgent string

	Group, Resource, Subresource, Namespace, Name string
	// Code is the HTTP status.
	Code int
	// Body and Answer are empty unless the audit policy records them.
	Body, Answer json.RawMessage
}

// Object returns the request's object, as in "pods/eviction shop/cart-0".
func (r Request) Object() string {
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	name := r.Name
	if r.Namespace != "" {
		name = r.Namespace + "/" + r.Name
	}
	return strings.TrimSpace(resource + " " + name)
}

// String is the request in one line.
func (r Request) String() string {
	who := r.User
	if r.Impersonated != "" {
		who += " as " + r.Impersonated
	}
	return fmt.Sprintf("%s %s %s %d by %s", r.Ended.Format("15:04:05.000"), r.Verb, r.Object(), r.Code, who)
}

// ReadFile reads the requests of a log that were answered so far.
func ReadFile(path string) ([]Request, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer file.Close()
	return Read(file)
}

// Read reads a log. A last line that is still being written is left out.
func Read(log io.Reader) ([]Request, error) {
	var requests []Request
	lines := bufio.NewReaderSize(log, 1<<20)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return requests, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		var e event
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read the audit log: line %d: %w", number, err)
		}
		if e.Stage == "ResponseComplete" || e.Stage == "Panic" {
			requests = append(requests, e.request())
		}
	}
}

// event is an entry of the log (audit.k8s.io/v1 Event), with the fields that Request needs.
type event struct {
	AuditID                  string    `json:"auditID"`
	Stage                    string    `json:"stage"`
	RequestURI               string    `json:"requestURI"`
	Verb                     string    `json:"verb"`
	UserAgent                string    `json:"userAgent"`
	RequestReceivedTimestamp time.Time `json:"requestReceivedTimestamp"`
	StageTimestamp           time.Time `json:"stageTimestamp"`
	User                     struct {
		Username string              `json:"username"`
		Extra    map[string][]string `json:"extra"`
	} `json:"user"`
	ImpersonatedUser struct {
		Username string `json:"username"`
	} `json:"impersonatedUser"`
	ObjectRef struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestObject  json.RawMessage `json:"requestObject"`
	ResponseObject json.RawMessage `json:"responseObject"`
}

const tokenNode = "authentication.kubernetes.io/node-name"

func (e event) request() Request {
	return Request{
		ID: e.AuditID, Began: e.RequestReceivedTimestamp, Ended: e.StageTimestamp,
		Verb: e.Verb, URI: e.RequestURI, UserAgent: e.UserAgent,
		User: e.User.Username, Impersonated: e.ImpersonatedUser.Username, TokenNode: strings.Join(e.User.Extra[tokenNode], ""),
		Group: e.ObjectRef.APIGroup, Resource: e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource,
		Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
		Code: e.ResponseStatus.Code, Body: e.RequestObject, Answer: e.ResponseObject,
	}
}
