// Renders the templates of a chart as Helm does, where no Helm is to be had: text/template, the functions of sprig, and `include`.
// GO111MODULE=off GOPATH=/usr/share/gocode go run test/by-hand/render-chart.go CHART <INPUT, where INPUT is JSON with what Helm
// calls Values, Release and Chart. Needs Debian's golang-go and golang-github-masterminds-sprig-dev.
package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
)

func require(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	var input map[string]interface{}
	require(json.NewDecoder(os.Stdin).Decode(&input))
	all := template.New("chart").Option("missingkey=error")
	functions := sprig.TxtFuncMap()
	functions["include"] = func(name string, data interface{}) (string, error) {
		var text strings.Builder
		err := all.ExecuteTemplate(&text, name, data)
		return text.String(), err
	}
	// A chart reads no environment.
	delete(functions, "env")
	delete(functions, "expandenv")
	all.Funcs(functions)
	files, err := filepath.Glob(filepath.Join(os.Args[1], "templates", "*"))
	require(err)
	_, err = all.ParseFiles(files...)
	require(err)
	for _, file := range files {
		if filepath.Ext(file) != ".yaml" {
			continue
		}
		os.Stdout.WriteString("---\n")
		require(all.ExecuteTemplate(os.Stdout, filepath.Base(file), input))
	}
}
