#!/bin/sh
# From a folder of tables to a decision, without Python: whom to talk to first in a school class.
# Run: sh examples/from_tables.sh
set -e
out=$(mktemp -d)
sphunc simulate snare "$out/school" --agents 60 --times 7 --seed 3    # in place of your own tables
sphunc check "$out/school"
sphunc fit "$out/school" --out "$out/run" --until 5
sphunc predict "$out/run" --rows 5
sphunc influence "$out/run" --rows 5
sphunc intervene "$out/run" --do-outcome a00=class-0 --do-outcome a01=class-0 --horizon 2 --rows 5
sphunc evaluate "$out/run"
rm -r "$out"
