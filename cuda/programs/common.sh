# What the scripts here share: where the libraries are, how a program is run with them, and the line about its outcome.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
nvcc=${WARPWRIGHT_NVCC:-nvcc}
release=$root/target/release
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/lib"
ln -s "$release/libwarpwright_cuda.so" "$work/lib/libcuda.so.1"
ln -s libcuda.so.1 "$work/lib/libcuda.so"
ln -s "$release/libwarpwright_cudart.so" "$work/lib/libwarpwright_cudart.so"
for name in libcublas.so libcublas.so.13 libcublas.so.12 libcurand.so libcurand.so.10; do
    ln -s "$release/libwarpwright_cuda_math.so" "$work/lib/$name"
done
export LD_LIBRARY_PATH=$work/lib
# NVIDIA's runtime library is linked into programs; in the package of the compiler, it is here.
static=$(dirname "$(command -v "$nvcc")")/../lib

# compile ARGUMENTS...: runs nvcc for a program with PTX; what it prints is in $log.
compile() {
    "$nvcc" -std=c++17 -arch=sm_80 -w --cudadevrt none -L "$work/lib" -L "$static" "$@" -lcuda >"$log" 2>&1
}

# report_build NAME: prints why it does not compile.
report_build() {
    printf '%-40s build     %s\n' "$1" "$(grep -m1 -E 'error|undefined|cannot' "$log" | sed 's/.*: //' | cut -c -80)"
}

# findings: prints the kinds of findings in $log, with their numbers.
findings() {
    sed -nE 's/.*warpwright: ([a-z_]+)(: launch.*)?$/\1/p' "$log" | sort | uniq -c | awk '{printf "%s %s, ", $1, $2}'
}

# run NAME COMMAND...: runs a program for at most SECONDS_PER_PROGRAM seconds and prints a line with its outcome: right (its own check
# passes), findings, waived (it says that it lacks a feature), wrong, time; and the kinds of findings, or its last line.
run() {
    local name=$1 outcome kinds
    shift
    timeout "${SECONDS_PER_PROGRAM:-60}" env LD_PRELOAD="$work/lib/libcuda.so.1" "$@" >"$log" 2>&1 </dev/null
    case $? in
        0) outcome=right ;;
        2) outcome=waived ;;
        86) outcome=findings ;;
        124) outcome=time ;;
        *) outcome=wrong ;;
    esac
    kinds=$(findings)
    [[ $outcome == right || $outcome == findings ]] || kinds+=$(grep -m1 'not supported' "$log" || tail -1 "$log")
    printf '%-40s %-9s %s\n' "$name" "$outcome" "$(cut -c -90 <<<"${kinds%, }")"
    [[ -z ${LOGS:-} ]] || cp "$log" "$LOGS/${name//\//-}.log"
}
