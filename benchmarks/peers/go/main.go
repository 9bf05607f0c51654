// A hook that does nothing: it decodes a request into maps and encodes the answer that it was given.
//
// Usage: hook FOLDER. POST /N is answered with FOLDER/N.json, which is decoded once and encoded for every call. The
// first line on standard output is the port; the process ends when its standard input does.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	paths, err := filepath.Glob(filepath.Join(os.Args[1], "*.json"))
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			log.Fatal(err)
		}
		var answer map[string]any
		if err := json.Unmarshal(text, &answer); err != nil {
			log.Fatal(err)
		}
		http.HandleFunc("/"+strings.TrimSuffix(filepath.Base(path), ".json"), answering(answer))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	log.Fatal(http.Serve(listener, nil))
}

func answering(answer map[string]any) http.HandlerFunc {
	return func(response http.ResponseWriter, call *http.Request) {
		body, err := io.ReadAll(call.Body)
		if err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		var request map[string]any
		if err := json.Unmarshal(body, &request); err != nil {
			http.Error(response, err.Error(), http.StatusBadRequest)
			return
		}
		encoded, err := json.Marshal(answer)
		if err != nil {
			http.Error(response, err.Error(), http.StatusInternalServerError)
			return
		}
		response.Header().Set("Content-Type", "application/json")
		response.Header().Set("Content-Length", strconv.Itoa(len(encoded)))
		_, _ = response.Write(encoded)
	}
}
