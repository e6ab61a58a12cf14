import { CHECK_SOURCES } from '../check-sources.ts'

/** The folder of the crew in its pods and in its image. */
const ROOT = '/crew'
/** The folder with the project, which is read only. */
export const PROJECT = `${ROOT}/project`
const VENV = `${ROOT}/venv`

/** The command that serves the crew. */
export const SERVE = [`${VENV}/bin/python`, '-m', 'crew_runtime', '--project', PROJECT] as const

/** Exit code of a script that could not reach what it needs: not the fault of the source. */
export const EXIT_UNREACHABLE = 75

/** Makes the virtual environment of the crew, where there is none yet. */
export const MAKE_VENV = `set -eu
[ -x ${VENV}/bin/python ] || uv venv --quiet \${PYTHON_VERSION:+--python "$PYTHON_VERSION"} ${VENV}
`

/** Fails where a source in the working directory is not valid Python. */
export const CHECK = `${VENV}/bin/python -I -W ignore -c '${CHECK_SOURCES}'
`

/**
 * Installs what the project in the working directory names into a virtual environment of its own,
 * with the adapter, once its sources are found to be Python. Its lock goes before its
 * pyproject.toml, and that before its requirements.txt: a lock pins versions and hashes, whichever
 * index has them. The project itself is not installed but run where it is. `UV_INDEX` has the tools
 * indexes, which uv asks before the public one.
 */
export const INSTALL = `${MAKE_VENV}${CHECK}export VIRTUAL_ENV=${VENV}
if [ -f uv.lock ]; then
  echo 'Installing what uv.lock pins.'
  uv export --quiet --frozen --no-dev --no-emit-project --output-file /tmp/requirements.txt
  uv pip install --requirements /tmp/requirements.txt
elif [ -f pyproject.toml ]; then
  echo 'Installing the dependencies of pyproject.toml. A uv.lock would pin them.'
  uv pip install --requirements pyproject.toml
elif [ -f requirements.txt ]; then
  echo 'Installing requirements.txt.'
  uv pip install --requirements requirements.txt
else
  echo 'There is no uv.lock, pyproject.toml or requirements.txt: it gets the adapter alone.'
fi
uv pip install crew-runtime
`

/** Fetches and unpacks the source; tries again for a while what the network fails. */
const FETCH = `import hashlib, io, os, sys, tarfile, time, urllib.request
for attempt in range(1, 7):
    try:
        with urllib.request.urlopen(os.environ["SOURCE_URL"], timeout=60) as answer:
            content = answer.read(70 << 20)
        break
    except OSError as error:
        print(f"The source cannot be fetched: {error}", file=sys.stderr, flush=True)
        if attempt == 6:
            sys.exit(${EXIT_UNREACHABLE})
        time.sleep(2 ** attempt)
if hashlib.sha256(content).hexdigest() != os.environ["SOURCE_DIGEST"]:
    sys.exit("The source is not what was uploaded: its SHA-256 differs.")
with tarfile.open(fileobj=io.BytesIO(content)) as archive:
    # The filter came with patch releases of 3.10 and 3.11.
    safely = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
    archive.extractall("${PROJECT}", **safely)
`

/** Fetches the source and installs it, in the init container of a pod. */
export const FETCH_AND_INSTALL = `set -eu
rm -rf ${PROJECT} ${VENV}
mkdir -p ${PROJECT}
python3 - <<'FETCH'
${FETCH}FETCH
cd ${PROJECT}
${INSTALL}`

/** The variables of uv in every install. */
export const UV_VARIABLES = {
  UV_COMPILE_BYTECODE: '1',
  UV_NO_PROGRESS: '1',
  UV_PYTHON_INSTALL_DIR: `${ROOT}/python`,
  UV_HTTP_TIMEOUT: '60',
} as const

/** The folder that init container and crew share. */
export const CREW_ROOT = ROOT
