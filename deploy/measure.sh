#!/bin/sh
# Measures a run into a store, or resumes the store's last run:
# measure STORE DIR [argument of run...]
# If a pod is restarted on the same node, its run continues. On another node, a new run begins in
# the same store.
set -u
store=$1 dir=$2
shift 2
mkdir -p "$dir" "$(dirname "$store")" || exit 1
# The store may name programs as drivers. sqlite3perf executes them only if --drivers names them
# again.
typed() {
	while [ $# -gt 0 ]; do
		case $1 in
		--drivers) echo "${2-}" && return ;;
		--drivers=*) echo "${1#*=}" && return ;;
		esac
		shift
	done
}
drivers=$(typed "$@")
code=2
if [ -s "$store" ]; then
	sqlite3perf run --resume last --store "$store" --dir "$dir" ${drivers:+--drivers "$drivers"} --quiet --format markdown
	code=$?
fi
if [ "$code" = 2 ]; then # there is no run, or it is complete, or it cannot be resumed here
	last=$(sqlite3perf runs --store "$store" 2>/dev/null | tail -n 1)
	case $last in
	*"rounds done"* | *settled* | *"time over"*) echo "measure: $store has a complete run" && exit 0 ;;
	esac
	sqlite3perf run "$@" --store "$store" --dir "$dir" --quiet --format markdown
	code=$?
fi
# Exit status 4 means that some timed phases failed. The store has the reasons, and the phases would
# fail again, so the pod must not be restarted.
[ "$code" = 4 ] && exit 0
exit "$code"
