import { INSTALL, PROJECT, SERVE, UV_VARIABLES } from './install-script.ts'

/**
 * Returns the Dockerfile of a project that has none. What the project names is installed in a layer
 * of its own, which stays as it is while only code changes; a project whose dependencies need more
 * of its files, such as paths, gets them with the second step. The indexes and their token come as
 * a secret of BuildKit, which no layer has.
 */
export function generateDockerfile(pythonImage: string): string {
  const variables = Object.entries(UV_VARIABLES).map((pair) => pair.join('='))
  const mounts = [
    '--mount=type=secret,id=uv_index,env=UV_INDEX',
    '--mount=type=cache,target=/root/.cache/uv',
  ]
  const install = ['RUN', ...mounts, 'sh'].join(' ')
  return `FROM ${pythonImage}
ARG PYTHON_VERSION
ENV ${variables.join(' ')} UV_LINK_MODE=copy
WORKDIR ${PROJECT}
COPY pyproject.toml* uv.lock* requirements.txt* ./
${install} <<'INSTALL' || echo 'The dependencies need the whole project; trying again with it.'
${INSTALL}INSTALL
COPY . .
${install} <<'INSTALL'
${INSTALL}INSTALL
USER 1000:1000
EXPOSE 8000
ENTRYPOINT ${JSON.stringify(SERVE)}
`
}
