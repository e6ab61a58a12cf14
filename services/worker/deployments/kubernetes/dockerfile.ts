import { INSTALL, PROJECT, SERVE, UV_VARIABLES } from './install-script.ts'

/** The secret of a build with the tools indexes, as its steps read it. */
export const INDEX_SECRET = 'uv_index'

/** The secret of a build with the operator's certificate authorities; empty without any. */
export const CA_SECRET = 'ca_bundle'

const MOUNTS = [
  `--mount=type=secret,id=${INDEX_SECRET}`,
  `--mount=type=secret,id=${CA_SECRET}`,
  '--mount=type=cache,target=/root/.cache/uv',
].join(' ')
const INSTALL_HERE = `UV_INDEX="$(cat /run/secrets/${INDEX_SECRET})"
export UV_INDEX
if [ -s /run/secrets/${CA_SECRET} ]; then
  trap 'rm -f /tmp/ca.crt' EXIT
  cat /etc/ssl/certs/ca-certificates.crt /run/secrets/${CA_SECRET} >/tmp/ca.crt
  export SSL_CERT_FILE=/tmp/ca.crt
fi
${INSTALL}`
const TRY = `sh -c "$0" || echo 'The dependencies need the whole project; trying again with it.'`

/**
 * Returns the Dockerfile of a project that has none. What the project names is installed in a layer
 * of its own, which stays as it is while only code changes; a project whose dependencies need more
 * of its files, such as paths, gets them with the second step. The indexes and their token come as
 * a secret, which no layer has. Other builders than BuildKit read it as well: it has neither here
 * documents nor secrets as variables.
 */
export function generateDockerfile(pythonImage: string): string {
  const variables = Object.entries(UV_VARIABLES).map((pair) => pair.join('='))
  return `FROM ${pythonImage}
ARG PYTHON_VERSION
ENV ${variables.join(' ')} UV_LINK_MODE=copy
WORKDIR ${PROJECT}
COPY pyproject.toml* uv.lock* requirements.txt* ./
RUN ${MOUNTS} ${JSON.stringify(['sh', '-c', TRY, INSTALL_HERE])}
COPY . .
RUN ${MOUNTS} ${JSON.stringify(['sh', '-c', INSTALL_HERE])}
USER 1000:1000
EXPOSE 8000
ENTRYPOINT ${JSON.stringify(SERVE)}
`
}
