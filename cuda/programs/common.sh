# Code shared by the scripts: the locations of the libraries, and functions that run a program with them and print its outcome.

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
# NVIDIA's runtime library is linked into programs; the compiler's package contains it in this folder.
static=$(dirname "$(command -v "$nvcc")")/../lib

# compile ARGUMENTS...: runs nvcc for a program with PTX; its output is in $log.
compile() {
    "$nvcc" -std=c++17 -arch=sm_80 -w --cudadevrt none -L "$work/lib" -L "$static" "$@" -lcuda >"$log" 2>&1
}

# report_build NAME: prints the reason why the program does not compile.
report_build() {
    printf '%-40s build     %s\n' "$1" "$(grep -m1 -E 'error|undefined|cannot' "$log" | sed 's/.*: //' | cut -c -80)"
}

# findings: prints the kinds of findings in $log, with the number of each.
findings() {
    sed -nE 's/.*warpwright: ([a-z_]+)(: launch.*)?$/\1/p' "$log" | sort | uniq -c | awk '{printf "%s %s, ", $1, $2}'
}

# run NAME COMMAND...: runs a program for at most SECONDS_PER_PROGRAM seconds and prints a line with its outcome, which is right (its own
# check passes), findings, waived (it reports a missing feature), wrong, or time (it exceeds the time limit). The line ends with the kinds
# of findings; for waived, wrong and time, these are followed by the first "not supported" line or the last line of output.
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
