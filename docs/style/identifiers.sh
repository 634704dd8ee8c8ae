#!/usr/bin/env bash
# identifiers.sh finds Go identifiers of a private vocabulary. docs/style/Slipway/Terms.yml has the
# standard terms.
set -euo pipefail

words='shelf|shelves|errands?|ground|ledgers?|rivalry|rivals?|noted|tellers?|asIf|fors|postman|lastWords|mortalClock'
parts='Shel(f|ves)|Errands?|Ledgers?|Rivalry|Rivals?|Noted|Tellers?|Postman|LastWords|MortalClock'

# Directories that still have such names: remove one with its last name.
pending=(
	drain
	internal
	test
)

found=$(git grep --untracked -nE "(^|[^A-Za-z\"'])($words|$parts)([A-Z0-9_][A-Za-z0-9_]*)?([^a-z]|\$)|[a-z]($parts)([^a-z]|\$)" -- '*.go' "${pending[@]/#/:!}" |
	sed -E 's#[[:space:]]//.*##; s#"([^"\\]|\\.)*"#""#g' |
	grep -E "[^A-Za-z\"']($words|$parts)([^a-z]|\$)|[a-z]($parts)([^a-z]|\$)" |
	grep -vE '^[^:]+:[0-9]+:[[:space:]]*//' || true)
if [ -n "$found" ]; then
	echo "$found"
	echo "identifiers: use the terms of docs/style/Slipway/Terms.yml"
	exit 1
fi
