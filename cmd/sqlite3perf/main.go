// Command sqlite3perf measures ways of using SQLite from Go.
package main

func main() {}
