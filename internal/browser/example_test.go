package browser_test

import (
	"context"
	"fmt"
	"log"

	"github.com/sqlite3perf/sqlite3perf/internal/browser"
)

func Example() {
	b, err := browser.Start(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	page, err := b.Open("data:text/html,<title>A page</title>", browser.Look{Width: 390, Height: 844})
	if err != nil {
		log.Fatal(err)
	}
	title, err := browser.Eval[string](page, "document.title")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(title)
	// Output: A page
}
