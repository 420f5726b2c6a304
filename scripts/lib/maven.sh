# shellcheck shell=bash
# Jars from Maven, each set in a folder of its own, kept for the next time.
# shellcheck disable=SC2154 # cache is set by scripts/services

# fetch_jars downloads artifacts (group:name:version) and all that they need beside their folder, and moves them there
# when all have come.
fetch_jars() {
  local folder=$1 work
  shift
  command -v mvn >/dev/null || die "Maven is missing; install the package maven"
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/fetch.XXXXXX")
  pom_of "$@" >"$work/pom.xml"
  say "downloading $* by Maven"
  if ! mvn -q -B -f "$work/pom.xml" dependency:copy-dependencies -DincludeScope=runtime \
    "-DoutputDirectory=$work/jars" </dev/null >"$work/log" 2>&1 9>&-; then
    tail -n 20 "$work/log" >&2
    die "Maven cannot fetch $*; its output is $work/log"
  fi
  rm -rf "$folder"
  mv "$work/jars" "$folder"
  rm -rf "$work"
}

pom_of() {
  local group name version
  cat <<XML
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>postroom</groupId>
  <artifactId>servers</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
XML
  while IFS=: read -r group name version; do
    echo "<dependency><groupId>$group</groupId><artifactId>$name</artifactId><version>$version</version></dependency>"
  done < <(printf '%s\n' "$@")
  echo '</dependencies></project>'
}
