import { CHECK, INSTALL, MAKE_VENV, PROJECT, SERVE, UV_VARIABLES } from './install-script.ts'

/** The secret of a build with the tools indexes, as its steps read it. */
export const INDEX_SECRET = 'uv_index'

/** The secret of a build with the operator's certificate authorities; empty without any. */
export const CA_SECRET = 'ca_bundle'

const MOUNTS = [
  `--mount=type=secret,id=${INDEX_SECRET}`,
  `--mount=type=secret,id=${CA_SECRET}`,
  '--mount=type=cache,target=/root/.cache/uv',
].join(' ')
const here = (script: string): string => `UV_INDEX="$(cat /run/secrets/${INDEX_SECRET})"
export UV_INDEX
if [ -s /run/secrets/${CA_SECRET} ]; then
  trap 'rm -f /tmp/ca.crt' EXIT
  cat /etc/ssl/certs/ca-certificates.crt /run/secrets/${CA_SECRET} >/tmp/ca.crt
  export SSL_CERT_FILE=/tmp/ca.crt
fi
${script}`
const run = (script: string): string => `RUN ${MOUNTS} ${JSON.stringify(['sh', '-c', script])}`
const TRY = `sh -c "$0" || echo 'The dependencies need the whole project; trying again with it.'`

/**
 * Returns the Dockerfile of a project that has none. A source that is not valid Python ends the
 * build before anything is installed: the last stage takes its files from the one that checks them.
 * What the project names is installed in a layer of its own, which stays as it is while only code
 * changes; a project whose dependencies need more of its files, such as paths, gets them with the
 * second step. The indexes and their token come as a secret, which no layer has. Other builders
 * than BuildKit read it as well: it has neither here documents nor secrets as variables.
 */
export function generateDockerfile(pythonImage: string): string {
  const variables = Object.entries(UV_VARIABLES).map((pair) => pair.join('='))
  const manifests = ['pyproject.toml', 'uv.lock', 'requirements.txt']
  return `FROM ${pythonImage} AS environment
ARG PYTHON_VERSION
ENV ${variables.join(' ')} UV_LINK_MODE=copy
WORKDIR ${PROJECT}
${run(here(MAKE_VENV))}

FROM environment AS sources
COPY . .
RUN ${JSON.stringify(['sh', '-c', CHECK])}

FROM environment
COPY --from=sources ${manifests.map((name) => `${PROJECT}/${name}*`).join(' ')} ./
RUN ${MOUNTS} ${JSON.stringify(['sh', '-c', TRY, here(INSTALL)])}
COPY --from=sources ${PROJECT} ./
${run(here(INSTALL))}
USER 1000:1000
EXPOSE 8000
ENTRYPOINT ${JSON.stringify(SERVE)}
`
}
