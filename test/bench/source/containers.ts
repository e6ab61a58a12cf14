import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  generateDockerfile,
  INDEX_SECRET,
} from '../../../services/worker/deployments/kubernetes/dockerfile.ts'
import {
  CREW_ROOT,
  FETCH_AND_INSTALL,
  SERVE,
  UV_VARIABLES,
} from '../../../services/worker/deployments/kubernetes/install-script.ts'
import type { Project } from '../../services/worker/deployments/crew-projects.ts'
import { buildImage, PYTHON_IMAGE } from '../../support/buildah.ts'
import type { Buildah } from '../../support/buildah.ts'
import { freePort } from '../../support/free-port.ts'
import { startHttpServer } from '../../support/http-server.ts'
import { archiveOf } from './project.ts'
import { until } from './until.ts'

/** The machine's own settings of programs that install packages. */
const SSL_CERT_FILE = '/etc/ssl/certs/ca-certificates.crt'
/** A Dockerfile as people write one, with the dependencies in a layer of their own. */
const PLAIN = `FROM ${PYTHON_IMAGE}
WORKDIR /app
COPY pyproject.toml ./
RUN --mount=type=secret,id=${INDEX_SECRET} uv venv /venv && \\
  uv pip install --python /venv --index "$(cat /run/secrets/${INDEX_SECRET})" \\
  -r pyproject.toml crew-runtime
COPY . .
USER 1000:1000
ENTRYPOINT ["/venv/bin/python", "-m", "crew_runtime", "--project", "/app"]
`

/** Where the packages of a crew come from, with its token. */
export interface Surroundings {
  readonly buildah: Buildah
  readonly index: string
}

const environment = (variables: Readonly<Record<string, string>>): string[] =>
  Object.entries(variables).flatMap(([name, value]) => ['--env', `${name}=${value}`])

/** Serves a crew from a container until it is healthy once. */
async function serve({ buildah }: Surroundings, container: string, args: readonly string[]) {
  const port = await freePort()
  const variables = { PORT: String(port), CREW_TOKEN: 'of-the-crew', HOME: '/tmp' }
  await buildah.command('config', ...environment(variables), container)
  const crew = buildah.start(container, args)
  try {
    await until(async () => (await fetch(`http://127.0.0.1:${port}/health`)).ok)
  } finally {
    await crew.stop()
    await buildah.command('rm', container)
  }
}

/** Deploys a project as a pod that installs it does, from its init container to a healthy crew. */
export async function deploySlim(around: Surroundings, files: Project, cache: string) {
  const { buildah, index } = around
  const { content, digest } = await archiveOf(files)
  const web = await startHttpServer((_, response) => response.end(content))
  await mkdir(cache, { recursive: true })
  try {
    const container = (await buildah.command('from', '--pull-never', PYTHON_IMAGE)).trim()
    const uv = { ...UV_VARIABLES, UV_CACHE_DIR: `${CREW_ROOT}/cache`, UV_INDEX: index }
    const source = { SOURCE_URL: web.url, SOURCE_DIGEST: digest }
    const variables = environment({ SSL_CERT_FILE, ...uv, ...source })
    await buildah.command('config', ...variables, container)
    const volume = ['--volume', `${cache}:${CREW_ROOT}/cache`]
    await buildah.command('run', ...volume, container, '--', 'sh', '-c', FETCH_AND_INSTALL)
    await serve(around, container, SERVE)
  } finally {
    await web.stop()
  }
}

/** Which Dockerfile a project is built with. */
export type Dockerfile = 'generated' | 'plain'

/** Deploys a project as an image: builds it, and starts a container of it. */
export async function deployImage(around: Surroundings, files: Project, dockerfile: Dockerfile) {
  const { buildah, index } = around
  const image = `localhost/crew:${dockerfile}`
  await buildImage(buildah, {
    files,
    dockerfile: dockerfile === 'generated' ? generateDockerfile(PYTHON_IMAGE) : PLAIN,
    secrets: { [INDEX_SECRET]: index },
    variables: { SSL_CERT_FILE },
    tag: image,
  })
  const container = (await buildah.command('from', '--pull-never', image)).trim()
  const { Docker } = JSON.parse(await buildah.command('inspect', '--type', 'image', image))
  await serve(around, container, Docker.config.Entrypoint)
}

/** Forgets all images but the one to start from, and the caches of builds. */
export async function forgetBuilds({ buildah }: Surroundings): Promise<void> {
  const images = await buildah.command('images', '--all', '--quiet', '--no-trunc')
  const base = (await buildah.command('images', '--quiet', '--no-trunc', PYTHON_IMAGE)).trim()
  const others = [...new Set(images.split('\n'))].filter((id) => id !== '' && id !== base)
  if (others.length > 0) await buildah.command('rmi', '--force', ...others)
  await rm(join(buildah.directory, 'buildah-cache-0'), { recursive: true, force: true })
}
