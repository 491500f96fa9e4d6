# A container engine with the images that the tests start: to be sourced by .ci/run, once the packages are installed.
#
# start_engine: install and start Docker where none runs (as root), make the base where it cannot be pulled, build the
#     assistants' image, and export OFFICETOWN_TEST_DOCKER=1, with which an absent engine is a failure and not a skip.
# stop_engine: stop the engine if start_engine started it.
#
# Uses `apt PACKAGE...` of .ci/run. An engine that DOCKER_HOST names is used and never started: a second one on a machine
# takes the first one's network away.

engine_log=${TMPDIR:-/tmp}/officetown-engine-$(id -u).log
engine_pid=

engine_answers() { docker version >/dev/null 2>&1; }

start_engine() {
    if ! engine_answers; then
        if [ -n "${DOCKER_HOST:-}" ]; then
            echo "No container engine answers at $DOCKER_HOST (DOCKER_HOST)." >&2
            return 1
        fi
        if [ "$(id -u)" != 0 ]; then
            echo "No container engine can be used by $(id -un), so the tests that need one are skipped."
            return 0
        fi
        { command -v dockerd && command -v docker; } >/dev/null || apt docker.io || return 1
        nohup dockerd >"$engine_log" 2>&1 </dev/null &
        engine_pid=$!
        local tries=0
        until engine_answers; do
            tries=$((tries + 1))
            if [ $tries -gt 300 ] || ! kill -0 "$engine_pid" 2>/dev/null; then
                echo "dockerd did not start:" >&2
                tail -n 40 "$engine_log" >&2
                engine_pid=
                return 1
            fi
            sleep 0.2
        done
    fi
    echo "Docker $(docker version --format '{{.Server.Version}}')"
    local base python=.venv/bin/python
    if ! $python -m services.sandbox.image check 2>/dev/null; then
        base=$(sed -n 's/^ARG BASE_IMAGE=//p' services/images/assistant/Dockerfile)
        docker image inspect "$base" >/dev/null 2>&1 || timeout 300 docker pull --quiet "$base" 2>/dev/null || {
            echo "No registry has $base for us, so it is made here."
            command -v debootstrap >/dev/null || apt debootstrap || return 1
            sh services/images/base.sh "$base" || return 1
        }
        $python -m services.sandbox.image build || return 1
    fi
    export OFFICETOWN_TEST_DOCKER=1
}

stop_engine() {
    if [ -n "$engine_pid" ]; then
        kill "$engine_pid" 2>/dev/null || true
        wait "$engine_pid" 2>/dev/null || true
        engine_pid=
    fi
}
